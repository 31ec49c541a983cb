import { describe, expect, it } from 'vitest'
import type { SnapshotEntry } from '#backends/portable-backend.ts'
import { pack, toStream, unpack } from '#backends/tar.ts'

const encode = (text: string) => new TextEncoder().encode(text)
const attributes = { mode: 0o644, modified: 1_700_000_000_000 }
const entries: readonly SnapshotEntry[] = [
  { ...attributes, path: 'd', kind: 'directory', mode: 0o755 },
  { ...attributes, path: 'd/empty', kind: 'file', bytes: encode('') },
  { ...attributes, path: 'd/run.sh', kind: 'file', mode: 0o755, bytes: encode('echo ran\n') },
  { ...attributes, path: 'd/block', kind: 'file', bytes: encode('x'.repeat(512)) },
  { ...attributes, path: 'd/link', kind: 'link', target: 'run.sh' },
  { ...attributes, path: 'd/far', kind: 'link', target: `/workspace/${'t'.repeat(130)}` },
  { ...attributes, path: `d/${'n'.repeat(120)}`, kind: 'directory', mode: 0o700 },
  { ...attributes, path: `d/${'n'.repeat(120)}/ü.txt`, kind: 'file', bytes: encode('long') },
  { ...attributes, path: `d/${'ü'.repeat(300)}`, kind: 'file', bytes: encode('longer than a header') },
]

async function collect<T>(source: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = []
  for await (const each of source) all.push(each)
  return all
}

async function packed(all: readonly SnapshotEntry[]): Promise<Uint8Array<ArrayBuffer>> {
  return new Uint8Array(await new Response(toStream(pack(all))).arrayBuffer())
}

const read = (archive: Uint8Array<ArrayBuffer>) => collect(unpack(new Response(archive).body ?? new ReadableStream()))

/** A tar header: octal fields, then the checksum. */
function header({ name, type, size = 0 }: { name: string; type: string; size?: number }): Uint8Array<ArrayBuffer> {
  const block = new Uint8Array(512)
  const octal = (value: number, width: number) => `${value.toString(8).padStart(width - 1, '0')}\0`
  const fields: [number, string][] = [
    [0, name],
    [100, octal(0o644, 8)],
    [124, octal(size, 12)],
    [136, octal(1_700_000_000, 12)],
    [148, '        '],
    [156, type],
    [257, 'ustar\u000000'],
  ]
  for (const [at, text] of fields) block.set(encode(text), at)
  const checksum = block.reduce((sum, byte) => sum + byte, 0)
  block.set(encode(`${octal(checksum, 7)} `), 148)
  return block
}

const join = async (...parts: readonly (Uint8Array<ArrayBuffer> | string)[]) =>
  new Uint8Array(await new Blob([...parts, new Uint8Array(1024)]).arrayBuffer())

const file = (name: string, text: string) => [
  header({ name, type: '0', size: text.length }),
  text.padEnd(Math.ceil(text.length / 512) * 512, '\0'),
]

describe('an archive', () => {
  it('returns the packed entries', async () => {
    expect(await collect(unpack(toStream(pack(entries))))).toEqual(entries)
  })

  it('is read in chunks of any size', async () => {
    const whole = await packed(entries)
    for (const size of [1, 77, 512, 5_000]) {
      const chunks = new ReadableStream<Uint8Array>({
        start(controller) {
          for (let from = 0; from < whole.length; from += size) controller.enqueue(whole.slice(from, from + size))
          controller.close()
        },
      })
      expect(await collect(unpack(chunks))).toEqual(entries)
    }
  })

  it('returns only wanted entries', async () => {
    const wanted = await collect(unpack(toStream(pack(entries)), (path) => path === 'd/run.sh'))
    expect(wanted).toEqual([entries[2]])
  })

  it('is rejected when it is truncated or damaged', async () => {
    const whole = await packed(entries)
    for (const length of [0, 100, 512, 2_000, whole.length - 1_024, whole.length - 512])
      await expect(read(whole.slice(0, length))).rejects.toMatchObject({ code: 'unavailable' })
    const damaged = whole.map((byte, i) => (i === 3 ? byte ^ 1 : byte))
    await expect(read(damaged)).rejects.toMatchObject({ code: 'unavailable' })
  })

  it('is rejected when its sender breaks off behind the end mark', async () => {
    const whole = await packed(entries)
    const chunks = [whole, new Uint8Array(512)]
    const broken = new ReadableStream<Uint8Array>({
      async pull(controller) {
        const chunk = chunks.shift()
        if (chunk) return controller.enqueue(chunk)
        // By then all entries have been read.
        await new Promise((resolve) => setTimeout(resolve, 50))
        controller.error(new Error('connection lost'))
      },
    })
    await expect(collect(unpack(broken))).rejects.toMatchObject({ code: 'unavailable' })
  })

  it('of GNU tar may have long names in separate entries', async () => {
    const name = `d/${'n'.repeat(150)}`
    const long = [header({ name: '././@LongLink', type: 'L', size: name.length + 1 }), name.padEnd(512, '\0')]
    const [entry] = await read(await join(...long, ...file('short', 'x')))
    expect(entry).toMatchObject({ path: name, kind: 'file', bytes: encode('x') })
  })

  it('skips devices, hard links and the folder itself, and strips what leads to the root', async () => {
    const archive = await join(
      header({ name: './', type: '5' }),
      header({ name: 'device', type: '3' }),
      header({ name: 'hard', type: '1' }),
      ...file('/etc/absolute', 'a'),
      ...file('./relative', 'b'),
    )
    expect((await read(archive)).map(({ path }) => path)).toEqual(['etc/absolute', 'relative'])
  })

  it('with a file that is too large is rejected before the file is read', async () => {
    const archive = await join(header({ name: 'large', type: '0', size: 65 * 1024 * 1024 }))
    await expect(read(archive)).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining('large'),
    })
  })

  it('with a header that is too large is rejected', async () => {
    const archive = await join(header({ name: 'pax', type: 'x', size: 65 * 1024 * 1024 }))
    await expect(read(archive)).rejects.toMatchObject({ code: 'unavailable' })
  })
})

describe('a stream', () => {
  const large = { ...attributes, kind: 'file', bytes: new Uint8Array(1024 * 1024) } as const

  it('of an archive is produced on demand, and its source ends on cancel', async () => {
    let [made, hasEnded] = [0, false]
    const source = async function* (): AsyncGenerator<SnapshotEntry> {
      try {
        for (; made < 100; made++) yield { ...large, path: `f${made}` }
      } finally {
        hasEnded = true
      }
    }
    const stream = toStream(pack(source()))
    const reader = stream.getReader()
    await reader.read()
    await reader.cancel()
    expect(made).toBeLessThan(20)
    expect(hasEnded).toBe(true)
  })

  it('that is unpacked in part is cancelled', async () => {
    let [pulled, isCancelled] = [0, false]
    const whole = await packed([
      { ...large, path: 'first' },
      ...Array.from({ length: 8 }, (_, i) => ({ ...large, path: `f${i}` })),
    ])
    const stream = new ReadableStream<Uint8Array>(
      {
        pull(controller) {
          controller.enqueue(whole.slice(pulled, (pulled += 64 * 1024)))
        },
        cancel() {
          isCancelled = true
        },
      },
      { highWaterMark: 0 },
    )
    for await (const { path } of unpack(stream)) {
      expect(path).toBe('first')
      break
    }
    expect(isCancelled).toBe(true)
    expect(pulled).toBeLessThan(4 * 1024 * 1024)
  })

  it('whose source fails ends with an error', async () => {
    const whole = await packed(entries)
    const stream = new ReadableStream<Uint8Array>({
      start: (controller) => controller.enqueue(whole.slice(0, 700)),
      pull: (controller) => controller.error(new Error('The connection was lost.')),
    })
    await expect(collect(unpack(stream))).rejects.toMatchObject({
      code: 'unavailable',
      message: 'The archive cannot be read: The connection was lost.',
    })
  })

  it('whose entries fail ends with their error', async () => {
    const source = async function* (): AsyncGenerator<SnapshotEntry> {
      yield { ...large, path: 'first' }
      throw new Error('The disk is gone.')
    }
    await expect(collect(pack(source()))).rejects.toThrow('The disk is gone.')
  })
})
