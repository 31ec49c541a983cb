/** Sends bytes that a model or a stranger may have written, so that no browser runs them on our origin. */

import { isShownInline } from '../../agent/model/media/media-type.ts'

export function respondWithFile(bytes: Uint8Array, mediaType: string, name: string): Response {
  const isInline = isShownInline(mediaType)
  return new Response(bytes as Uint8Array<ArrayBuffer>, {
    headers: {
      'content-type': isInline ? mediaType : 'application/octet-stream',
      'content-disposition': `${isInline ? 'inline' : 'attachment'}; filename*=UTF-8''${encodeName(name)}`,
      'x-content-type-options': 'nosniff',
      'content-security-policy': "default-src 'none'; sandbox",
      'referrer-policy': 'no-referrer',
      'cache-control': 'private, no-store',
    },
  })
}

/** Encodes a name for `filename*` of RFC 8187. */
const encodeName = (name: string): string =>
  encodeURIComponent(name.toWellFormed().slice(0, 200).toWellFormed()).replace(
    /['()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16)}`,
  )
