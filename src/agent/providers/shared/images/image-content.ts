/** Converts an image part to the form that providers accept: bytes, a URL, or a text in its place. */

import type { ImagePart } from '#agent/core/message.ts'

export type ImageContent =
  | { readonly kind: 'bytes'; readonly format: string; readonly data: string }
  | { readonly kind: 'url'; readonly url: string }
  | { readonly kind: 'text'; readonly text: string }

const supportedFormats: ReadonlySet<string> = new Set(['jpeg', 'png', 'gif', 'webp'])
const toText = (text: string): ImageContent => ({ kind: 'text', text })

export const omittedImageText = '[an image, left out because it was too large]'

export function toImageContent({ mediaType, data }: ImagePart, maxBytes: number): ImageContent {
  if (data.startsWith('blob:')) return toText('[an image that is gone]')
  if (mediaType.endsWith(';url'))
    return data.startsWith('https://') ? { kind: 'url', url: data } : toText('[an image, not shown]')
  const format = mediaType.replace(/^image\//, '').replace(/^jpg$/, 'jpeg')
  if (!supportedFormats.has(format)) return toText(`[an image of the type ${mediaType}, not shown]`)
  return data.length * 0.75 > maxBytes ? toText(omittedImageText) : { kind: 'bytes', format, data }
}
