/** How many pixels an image has, read from its first bytes: no more of it is decoded. */

import type { ImagePart } from '../../model/message.ts'

export type Size = { readonly width: number; readonly height: number }

/** Characters of base64 that are looked at; what photographs say of themselves stands before their size. */
const looked = 262_144

const sizes = new WeakMap<ImagePart, Size | 'unknown'>()

/** Undefined for an address, and for what is no picture that we can read. */
export function sizeOf(part: ImagePart): Size | undefined {
  let size = sizes.get(part)
  if (!size) sizes.set(part, (size = measured(part) ?? 'unknown'))
  return size === 'unknown' ? undefined : size
}

function measured({ mediaType, data }: ImagePart): Size | undefined {
  if (mediaType.endsWith(';url') || !/^[A-Za-z0-9+/]{24}/.test(data)) return undefined
  const head = data.slice(0, looked)
  const bytes = Uint8Array.from(atob(head.slice(0, head.length - (head.length % 4))), (char) => char.charCodeAt(0))
  const view = new DataView(bytes.buffer)
  const name = String.fromCharCode(...bytes.subarray(0, 16))
  if (name.startsWith('\u0089PNG') && bytes.length >= 24)
    return { width: view.getUint32(16), height: view.getUint32(20) }
  if (name.startsWith('GIF8')) return { width: view.getUint16(6, true), height: view.getUint16(8, true) }
  if (name.startsWith('RIFF') && name.slice(8, 12) === 'WEBP') return webp(view, name.slice(12, 16))
  return name.startsWith('\u00FF\u00D8') ? jpeg(view) : undefined
}

function webp(view: DataView, kind: string): Size | undefined {
  if (view.byteLength < 30) return undefined
  const low = (at: number, bits: number) => view.getUint32(at, true) & (2 ** bits - 1)
  if (kind === 'VP8X') return { width: low(24, 24) + 1, height: (view.getUint32(26, true) >>> 8) + 1 }
  if (kind === 'VP8L') return { width: low(21, 14) + 1, height: ((view.getUint32(21, true) >>> 14) & 0x3fff) + 1 }
  return kind === 'VP8 ' ? { width: low(26, 14), height: view.getUint16(28, true) & 0x3fff } : undefined
}

/** From marker to marker, up to the one that begins the picture itself. */
function jpeg(view: DataView): Size | undefined {
  for (let at = 2; at + 9 <= view.byteLength; at += 2 + view.getUint16(at + 2)) {
    if (view.getUint8(at) !== 0xff) return undefined
    const marker = view.getUint8(at + 1)
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker)
    if (isFrame) return { width: view.getUint16(at + 7), height: view.getUint16(at + 5) }
  }
  return undefined
}
