/** Images as providers of bytes take them: what they cannot take is named in words. */

import type { ImagePart } from '../../model/message.ts'

export type Picture =
  | { readonly as: 'bytes'; readonly format: string; readonly data: string }
  | { readonly as: 'address'; readonly url: string }
  | { readonly as: 'words'; readonly text: string }

const formats: ReadonlySet<string> = new Set(['jpeg', 'png', 'gif', 'webp'])
const words = (text: string): Picture => ({ as: 'words', text })

export const leftOut = '[an image, left out because it was too large]'

/** `limit`: bytes that one image may have. */
export function pictureOf({ mediaType, data }: ImagePart, limit: number): Picture {
  if (data.startsWith('blob:')) return words('[an image that is gone]')
  if (mediaType.endsWith(';url'))
    return data.startsWith('https://') ? { as: 'address', url: data } : words('[an image, not shown]')
  const format = mediaType.replace(/^image\//, '').replace(/^jpg$/, 'jpeg')
  if (!formats.has(format)) return words(`[an image of the type ${mediaType}, not shown]`)
  return data.length * 0.75 > limit ? words(leftOut) : { as: 'bytes', format, data }
}
