/** Files out of a zip archive, as office documents are: by its directory, each only when it is asked for. */

export type ZipArchive = {
  readonly names: readonly string[]
  /** `undefined` when there is no such file. Throws when it is larger than an archive may be, or damaged. */
  readonly readText: (name: string) => Promise<string | undefined>
}

const END = 0x06054b50
const ENTRY = 0x02014b50
/** A comment of 64 KiB may stand behind the record at the end. */
const TAIL = 65_557
const MAX_INFLATED = 50 * 1024 * 1024

type Place = { readonly method: number; readonly size: number; readonly header: number }

/** `undefined` when this is no zip archive. */
export function openZipArchive(bytes: Uint8Array): ZipArchive | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  let end = bytes.byteLength - 22
  while (end >= 0 && end > bytes.byteLength - TAIL && view.getUint32(end, true) !== END) end--
  if (end < 0 || view.getUint32(end, true) !== END) return undefined
  const places = directory(bytes, view, view.getUint32(end + 16, true), view.getUint16(end + 10, true))
  return {
    names: [...places.keys()],
    async readText(name) {
      const place = places.get(name)
      return place && new TextDecoder().decode(await inflate(bytes, view, place))
    },
  }
}

function directory(bytes: Uint8Array, view: DataView, start: number, count: number): Map<string, Place> {
  const places = new Map<string, Place>()
  let at = start
  for (let i = 0; i < count && at + 46 <= bytes.byteLength && view.getUint32(at, true) === ENTRY; i++) {
    const length = view.getUint16(at + 28, true)
    const name = new TextDecoder().decode(bytes.subarray(at + 46, at + 46 + length))
    const [method, size, header] = [
      view.getUint16(at + 10, true),
      view.getUint32(at + 20, true),
      view.getUint32(at + 42, true),
    ]
    places.set(name, { method, size, header })
    at += 46 + length + view.getUint16(at + 30, true) + view.getUint16(at + 32, true)
  }
  return places
}

async function inflate(bytes: Uint8Array, view: DataView, { method, size, header }: Place): Promise<Uint8Array> {
  const start = header + 30 + view.getUint16(header + 26, true) + view.getUint16(header + 28, true)
  const stored = bytes.slice(start, start + size)
  if (method === 0) return stored
  const parts: Uint8Array[] = []
  let total = 0
  const stream = new Response(stored).body?.pipeThrough(new DecompressionStream('deflate-raw'))
  if (!stream) return new Uint8Array()
  for await (const part of stream) {
    total += part.byteLength
    if (total > MAX_INFLATED) throw new RangeError('more than 50 MiB when unpacked')
    parts.push(part)
  }
  const whole = new Uint8Array(total)
  let at = 0
  for (const part of parts) {
    whole.set(part, at)
    at += part.byteLength
  }
  return whole
}
