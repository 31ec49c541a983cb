/** Reads the size of an image from its first bytes, without decoding the image. */

import { decodeBase64Bytes } from '#agent/core/base64.ts'
import type { ImagePart } from '#agent/core/message.ts'

export type ImageSize = { readonly width: number; readonly height: number }

/** Base64 characters that are read. Photos have metadata before their size. */
const maxHeadChars = 262_144

const sizes = new WeakMap<ImagePart, ImageSize | 'unknown'>()

/** Returns undefined for a URL and for an unknown format. */
export function getImageSize(part: ImagePart): ImageSize | undefined {
  let size = sizes.get(part)
  if (!size) sizes.set(part, (size = parseImageSize(part) ?? 'unknown'))
  return size === 'unknown' ? undefined : size
}

function parseImageSize({ mediaType, data }: ImagePart): ImageSize | undefined {
  if (mediaType.endsWith(';url') || !/^[A-Za-z0-9+/]{24}/.test(data)) return undefined
  const head = data.slice(0, maxHeadChars)
  const bytes = decodeBase64Bytes(head.slice(0, head.length - (head.length % 4)))
  const view = new DataView(bytes.buffer)
  const signature = String.fromCharCode(...bytes.subarray(0, 16))
  if (signature.startsWith('\u0089PNG') && bytes.length >= 24)
    return { width: view.getUint32(16), height: view.getUint32(20) }
  if (signature.startsWith('GIF8')) return { width: view.getUint16(6, true), height: view.getUint16(8, true) }
  if (signature.startsWith('RIFF') && signature.slice(8, 12) === 'WEBP')
    return parseWebpSize(view, signature.slice(12, 16))
  return signature.startsWith('\u00FF\u00D8') ? parseJpegSize(view) : undefined
}

function parseWebpSize(view: DataView, kind: string): ImageSize | undefined {
  if (view.byteLength < 30) return undefined
  const readBits = (at: number, bits: number) => view.getUint32(at, true) & (2 ** bits - 1)
  if (kind === 'VP8X') return { width: readBits(24, 24) + 1, height: (view.getUint32(26, true) >>> 8) + 1 }
  if (kind === 'VP8L') return { width: readBits(21, 14) + 1, height: ((view.getUint32(21, true) >>> 14) & 0x3fff) + 1 }
  return kind === 'VP8 ' ? { width: readBits(26, 14), height: view.getUint16(28, true) & 0x3fff } : undefined
}

/** Goes from marker to marker up to the frame header, which has the size. */
function parseJpegSize(view: DataView): ImageSize | undefined {
  for (let at = 2; at + 9 <= view.byteLength; at += 2 + view.getUint16(at + 2)) {
    if (view.getUint8(at) !== 0xff) return undefined
    const marker = view.getUint8(at + 1)
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker)
    if (isFrame) return { width: view.getUint16(at + 7), height: view.getUint16(at + 5) }
  }
  return undefined
}
