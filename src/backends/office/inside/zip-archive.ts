/** Reads single files of a zip archive, as office documents are, by the directory at its end. */

import type { WorkBudget } from './work-budget.ts'

export type ZipArchive = {
  readonly names: readonly string[]
  /** Returns undefined when there is no such file. Throws when it is damaged or too large. */
  readonly readText: (name: string) => Promise<string | undefined>
  readonly readBytes: (name: string) => Promise<Uint8Array | undefined>
  /** Whether the archive was made on a system with symbolic links, and the file is one. */
  readonly isLink: (name: string) => boolean
  /** Of a file that is there. */
  readonly describe: (name: string) => ZipFile | undefined
  /** More than names: the directory is longer than is read, or cut. */
  readonly total: number
}

export type ZipFile = {
  /** As the directory says: the file may unpack to another size. */
  readonly bytes: number
  readonly checksum: number
  readonly isEncrypted: boolean
  readonly mode: number
  /** Milliseconds since 1970, without a time zone. */
  readonly modified: number
}

const endOfDirectorySignature = 0x06054b50
const entrySignature = 0x02014b50
/** The record at the end is 22 bytes, and a comment of up to 64 KiB may follow it. */
const maxEndRecordBytes = 65_557
/** An office document has some hundred parts. */
const maxEntries = 10_000
/** The type of a file in its Unix mode. */
const fileTypeMask = 0o170000
const linkType = 0o120000

type ZipEntry = ZipFile & {
  readonly method: number
  readonly size: number
  readonly header: number
  readonly isLink: boolean
}

/** Returns undefined when the bytes are not a zip archive. */
export function openZipArchive(bytes: Uint8Array, budget: WorkBudget): ZipArchive | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  let end = bytes.byteLength - 22
  while (
    end >= 0 &&
    end > bytes.byteLength - maxEndRecordBytes &&
    view.getUint32(end, true) !== endOfDirectorySignature
  )
    end--
  if (end < 0 || view.getUint32(end, true) !== endOfDirectorySignature) return undefined
  const total = view.getUint16(end + 10, true)
  const entries = readDirectory(bytes, view, view.getUint32(end + 16, true), total)
  return {
    names: [...entries.keys()],
    async readText(name) {
      const entry = entries.get(name)
      return entry && decodeXml(await readEntry(bytes, entry, budget))
    },
    async readBytes(name) {
      const entry = entries.get(name)
      return entry && readEntry(bytes, entry, budget)
    },
    isLink: (name) => entries.get(name)?.isLink ?? false,
    describe: (name) => entries.get(name),
    total,
  }
}

function readDirectory(bytes: Uint8Array, view: DataView, start: number, count: number): Map<string, ZipEntry> {
  const entries = new Map<string, ZipEntry>()
  let offset = start
  for (
    let i = 0;
    i < Math.min(count, maxEntries) &&
    offset + 46 <= bytes.byteLength &&
    view.getUint32(offset, true) === entrySignature;
    i++
  ) {
    const length = view.getUint16(offset + 28, true)
    const name = new TextDecoder().decode(bytes.subarray(offset + 46, offset + 46 + length))
    const [method, size, header] = [
      view.getUint16(offset + 10, true),
      view.getUint32(offset + 20, true),
      view.getUint32(offset + 42, true),
    ]
    const mode = view.getUint32(offset + 38, true) >>> 16
    entries.set(name, {
      method,
      size,
      header,
      bytes: view.getUint32(offset + 24, true),
      checksum: view.getUint32(offset + 16, true),
      isEncrypted: (view.getUint16(offset + 8, true) & 1) === 1,
      mode: mode & 0o7777,
      modified: readTime(view.getUint16(offset + 14, true), view.getUint16(offset + 12, true)),
      isLink: (mode & fileTypeMask) === linkType,
    })
    offset += 46 + length + view.getUint16(offset + 30, true) + view.getUint16(offset + 32, true)
  }
  return entries
}

/** A part is UTF-8, or UTF-16 with its mark at the beginning. */
function decodeXml(bytes: Uint8Array): string {
  const [first, second] = bytes
  const isLittle = first === 0xff && second === 0xfe
  const isBig = first === 0xfe && second === 0xff
  return new TextDecoder(isLittle ? 'utf-16le' : isBig ? 'utf-16be' : 'utf-8').decode(bytes)
}

/** Days and times of DOS, in steps of two seconds. */
const readTime = (day: number, time: number): number =>
  Date.UTC(1980 + (day >> 9), ((day >> 5) & 15) - 1, day & 31, time >> 11, (time >> 5) & 63, (time & 31) * 2)

async function readEntry(
  bytes: Uint8Array,
  { method, size, header }: ZipEntry,
  budget: WorkBudget,
): Promise<Uint8Array> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const start = header + 30 + view.getUint16(header + 26, true) + view.getUint16(header + 28, true)
  const stored = bytes.slice(start, start + size)
  if (method === 0) {
    budget.unpack(stored.byteLength)
    return stored
  }
  const parts: Uint8Array<ArrayBuffer>[] = []
  const stream = new Response(stored).body?.pipeThrough(new DecompressionStream('deflate-raw'))
  if (!stream) return new Uint8Array()
  for await (const part of stream) {
    budget.unpack(part.byteLength)
    parts.push(part as Uint8Array<ArrayBuffer>)
  }
  return new Blob(parts).bytes()
}
