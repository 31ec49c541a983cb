/** Builds zip archives. */

import { crc32 } from '#agent/core/crc32.ts'

const deflated = async (text: string | Uint8Array): Promise<Uint8Array> => {
  const stream = new Response(text as BodyInit).body?.pipeThrough(new CompressionStream('deflate-raw'))
  return new Uint8Array(await new Response(stream ?? null).arrayBuffer())
}

/** Builds a record of `size` bytes with little-endian numbers at their offsets. */
function header(
  size: number,
  long: Readonly<Record<number, number>>,
  short: Readonly<Record<number, number>>,
): Uint8Array {
  const view = new DataView(new ArrayBuffer(size))
  for (const [at, value] of Object.entries(long)) view.setUint32(Number(at), value, true)
  for (const [at, value] of Object.entries(short)) view.setUint16(Number(at), value, true)
  return new Uint8Array(view.buffer)
}

/** Builds a zip archive. Names that end with `!` are stored, not deflated. */
export async function zip(files: Readonly<Record<string, string | Uint8Array>>): Promise<Uint8Array> {
  const parts: Uint8Array[] = []
  const directory: Uint8Array[] = []
  let at = 0
  for (const [given, text] of Object.entries(files)) {
    const stored = given.endsWith('!')
    const name = new TextEncoder().encode(given.replace(/!$/, ''))
    const plain = typeof text === 'string' ? new TextEncoder().encode(text) : text
    const data = stored ? plain : await deflated(text)
    parts.push(header(30, { 0: 0x04034b50 }, { 26: name.length }), name, data)
    directory.push(
      header(
        46,
        { 0: 0x02014b50, 16: crc32(plain), 20: data.length, 24: plain.length, 42: at },
        { 10: stored ? 0 : 8, 28: name.length },
      ),
      name,
    )
    at += 30 + name.length + data.length
  }
  const end = header(22, { 0: 0x06054b50, 16: at }, { 10: Object.keys(files).length })
  return new Uint8Array(await new Blob([...parts, ...directory, end] as Uint8Array<ArrayBuffer>[]).arrayBuffer())
}
