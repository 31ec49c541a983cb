/**
 * Joins Opus files to one, so that a long text is one voice message. Pages get one serial number, running numbers and
 * times that go on; the headers of all files but the first are left out (RFC 3533, RFC 7845).
 */

import { MediaFailure } from './vendor.ts'

/** The fixed part of a page header, before its table of segments. */
const headerBytes = 27
const [continuedFlag, firstFlag, lastFlag] = [1, 2, 4]
/** The time of a page on which no packet ends. */
const noTime = 0xffff_ffff_ffff_ffffn

type OggPage = { readonly bytes: Uint8Array<ArrayBuffer>; readonly flags: number; readonly time: bigint }

const viewOf = (bytes: Uint8Array): DataView => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)

function readPages(file: Uint8Array): readonly OggPage[] {
  const pages: OggPage[] = []
  for (let at = 0; at < file.length;) {
    const length = pageLength(file, at)
    const bytes = new Uint8Array(file.subarray(at, at + length))
    pages.push({ bytes, flags: bytes[5] ?? 0, time: viewOf(bytes).getBigUint64(6, true) })
    at += length
  }
  return pages
}

function pageLength(file: Uint8Array, at: number): number {
  const isPage = String.fromCharCode(...file.subarray(at, at + 4)) === 'OggS' && at + headerBytes <= file.length
  const segments = file[at + headerBytes - 1] ?? 0
  const table = file.subarray(at + headerBytes, at + headerBytes + segments)
  const length = headerBytes + segments + table.reduce((sum, size) => sum + size, 0)
  if (!isPage || at + length > file.length) throw new MediaFailure('failed', 'A piece of the speech is no Ogg file.')
  return length
}

/** The two headers are packets of their own: `OpusHead` on the first page, `OpusTags` on those after it. */
function withoutHeaders(pages: readonly OggPage[]): readonly OggPage[] {
  const first = pages.findIndex(({ flags, time }, at) => at > 0 && time > 0n && time !== noTime && !(flags & firstFlag))
  // Pages before it that carry a part of the first sound have no time of their own.
  let start = first
  while (start > 2 && (pages[start - 1]?.time === noTime || (pages[start]?.flags ?? 0) & continuedFlag)) start--
  return first < 0 ? [] : pages.slice(start)
}

/** Returns the samples at 48 kHz that an Opus file says it has; undefined for other files. */
export function countOggSamples(file: Uint8Array): number | undefined {
  try {
    const last = readPages(file).findLast(({ time }) => time !== noTime)
    return last && Number(last.time)
  } catch {
    return undefined
  }
}

export function joinOgg(files: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const [first, ...rest] = files.map(readPages)
  const parts = [first ?? [], ...rest.map(withoutHeaders)]
  const serial = viewOf(first?.[0]?.bytes ?? new Uint8Array(headerBytes)).getUint32(14, true)
  const pages: Uint8Array<ArrayBuffer>[] = []
  let elapsed = 0n
  for (const part of parts) {
    let latest = 0n
    for (const { bytes, flags, time } of part) {
      const view = viewOf(bytes)
      if (time !== noTime) view.setBigUint64(6, time + elapsed, true)
      if (time !== noTime) latest = time
      bytes[5] = flags & ~lastFlag
      view.setUint32(14, serial, true)
      view.setUint32(18, pages.length, true)
      pages.push(bytes)
    }
    elapsed += latest
  }
  const last = pages.at(-1)
  if (last) last[5] = (last[5] ?? 0) | lastFlag
  for (const page of pages) writeChecksum(page)
  return concat(pages)
}

export function concat(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const part of parts) {
    whole.set(part, at)
    at += part.length
  }
  return whole
}

const polynomial = 0x04c1_1db7
const crcTable = Uint32Array.from({ length: 256 }, (_, index) => {
  let value = index << 24
  for (let bit = 0; bit < 8; bit++) value = value & 0x8000_0000 ? (value << 1) ^ polynomial : value << 1
  return value >>> 0
})

/** The checksum is taken with its own field as zero. */
function writeChecksum(page: Uint8Array): void {
  const view = viewOf(page)
  view.setUint32(22, 0, true)
  let crc = 0
  for (const byte of page) crc = ((crc << 8) ^ (crcTable[((crc >>> 24) ^ byte) & 0xff] ?? 0)) >>> 0
  view.setUint32(22, crc, true)
}
