import { describe, expect, it } from 'vitest'
import { decodeUtf8Into, readBody } from '#agent/providers/shared/read-body.ts'
import { skipSleep } from '../support/chunked-response.ts'

/** Creates a body that sends byte by byte. `after`: what the body does after the last byte. */
function createBody(bytes: readonly number[], after: 'closes' | 'hangs' | 'continues') {
  let at = 0
  let cancelled: () => void = () => {}
  const wasCancelled = new Promise<string>((resolve) => (cancelled = () => resolve('cancelled')))
  let closed: () => void = () => {}
  const wasClosed = new Promise<string>((resolve) => (closed = () => resolve('closed')))
  const body = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        if (at < bytes.length || after === 'continues') return controller.enqueue(Uint8Array.of(bytes[at++] ?? 0))
        if (after === 'hangs') return new Promise(() => {})
        controller.close()
        closed()
      },
      cancel: () => cancelled(),
    },
    { highWaterMark: 0 },
  )
  return { body, ending: Promise.race([wasCancelled, wasClosed]) }
}
const never = () => new Promise<void>(() => {})

describe('readBody', () => {
  it('reads until the body ends', async () => {
    const received: number[] = []
    await readBody(createBody([1, 2, 3], 'closes').body, ([byte = 0]) => received.push(byte) > 3, never)
    expect(received).toEqual([1, 2, 3])
  })

  it.each([
    ['closes', never, 'closed'],
    ['hangs', skipSleep, 'cancelled'],
    ['continues', never, 'cancelled'],
  ] as const)('reads no further when the body %s after the end of the reply', async (after, sleep, outcome) => {
    const received: number[] = []
    const { body, ending } = createBody([1, 2], after)
    await readBody(body, ([byte = 0]) => received.push(byte) === 2, sleep)
    expect(received).toEqual([1, 2])
    expect(await ending).toBe(outcome)
  })

  it.each(['closes', 'continues'] as const)('leaves no timer behind a body that %s', async (after) => {
    const signals: AbortSignal[] = []
    const { body } = createBody([1, 2], after)
    const sleep = (_ms: number, signal?: AbortSignal) => {
      if (signal) signals.push(signal)
      return never()
    }
    await readBody(body, ([byte = 0]) => byte === 2, sleep)
    await expect.poll(() => signals.map(({ aborted }) => aborted)).toEqual([true])
  })

  it('cancels the body when `onChunk` throws', async () => {
    const { body, ending } = createBody([1], 'hangs')
    const reading = readBody(
      body,
      () => {
        throw new Error('no')
      },
      never,
    )
    await expect(reading).rejects.toThrow('no')
    expect(await ending).toBe('cancelled')
  })
})

describe('decodeUtf8Into', () => {
  const mark = '\uFEFF'
  const text = `${mark}aé€😀${mark}b\n`
  const bytes = new TextEncoder().encode(text)

  it.each(Array.from(bytes, (_byte, at) => at))(
    'decodes a text that is split after byte %i and drops only its first mark',
    (at) => {
      const parts: string[] = []
      const decode = decodeUtf8Into((part) => parts.push(part))
      for (const part of [bytes.subarray(0, at), bytes.subarray(at)]) decode(part)
      expect(parts.join('')).toBe(text.slice(1))
    },
  )

  it('decodes byte by byte', () => {
    const parts: string[] = []
    const decode = decodeUtf8Into((part) => parts.push(part))
    for (const byte of bytes) decode(Uint8Array.of(byte))
    expect(parts.join('')).toBe(text.slice(1))
  })

  it('keeps a mark that begins a later chunk', () => {
    const parts: string[] = []
    const decode = decodeUtf8Into((part) => parts.push(part))
    for (const part of ['a', `${mark}b`, 'c']) decode(new TextEncoder().encode(part))
    expect(parts.join('')).toBe(`a${mark}bc`)
  })
})
