/** Converts an image part to the form that providers accept: bytes, a URL, or a text in its place. */

import { decodeBase64Bytes } from '#agent/core/base64.ts'
import { detectMediaType } from '#agent/core/media/detect-media-type.ts'
import type { ImagePart } from '#agent/core/message.ts'

export type ImageContent =
  | { readonly kind: 'bytes'; readonly format: string; readonly data: string }
  | { readonly kind: 'url'; readonly url: string }
  | { readonly kind: 'text'; readonly text: string }

const supportedFormats: ReadonlySet<string> = new Set(['jpeg', 'png', 'gif', 'webp'])
const toText = (text: string): ImageContent => ({ kind: 'text', text })

/** In place of all images, after the provider has refused a request because of one. */
export const omittedImageText = '[an image, left out because the provider refused it]'
const tooLargeText = '[an image, left out because it was too large]'

export function toImageContent({ mediaType, data }: ImagePart, maxBytes: number): ImageContent {
  if (data.startsWith('blob:')) return toText('[an image that is gone]')
  if (mediaType.endsWith(';url'))
    return data.startsWith('https://') ? { kind: 'url', url: data } : toText('[an image, not shown]')
  if (data === '') return toText('[an empty image]')
  const type = readType(mediaType, data)
  const format = type.replace(/^image\//, '').replace(/^jpg$/, 'jpeg')
  if (!supportedFormats.has(format)) return toText(`[an image of the type ${type}, not shown]`)
  return data.length * 0.75 > maxBytes ? toText(tooLargeText) : { kind: 'bytes', format, data }
}

/** So many characters of base64 have the bytes that tell a format. */
const headChars = 32

/** The type that a client names for an image may be wrong, and a provider refuses the whole request then. */
function readType(given: string, data: string): string {
  try {
    return detectMediaType(decodeBase64Bytes(data.slice(0, headChars)))?.mime ?? given
  } catch {
    // It is no base64. The provider says so.
    return given
  }
}
