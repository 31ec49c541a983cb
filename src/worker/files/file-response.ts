/** Sends bytes that a model or a stranger may have written, so that no browser runs them on our origin. */

import { isShownInline } from '#agent/core/media/media-type.ts'

/** Types under which a browser could run what is in a file. */
const active = /html|xml|svg|javascript|ecmascript/

export const respondWithFile = (bytes: Uint8Array, mediaType: string, name: string): Response =>
  new Response(bytes as Uint8Array<ArrayBuffer>, { headers: fileHeaders(mediaType, name) })

export const fileHeaders = (mediaType: string, name: string) => ({
  'content-type': active.test(mediaType) ? 'application/octet-stream' : mediaType,
  'content-disposition': `${isShownInline(mediaType) ? 'inline' : 'attachment'}; filename*=UTF-8''${encodeName(name)}`,
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; sandbox",
  'referrer-policy': 'no-referrer',
  'cache-control': 'private, no-store',
})

/** A page may have styles and pictures of its own, but no scripts, no requests and no origin. Only our page may frame it. */
export const previewHeaders = {
  'content-type': 'text/html; charset=utf-8',
  'content-disposition': 'inline',
  'x-content-type-options': 'nosniff',
  'content-security-policy':
    "sandbox; default-src 'none'; img-src data:; style-src 'unsafe-inline'; frame-ancestors 'self'",
  'referrer-policy': 'no-referrer',
  'cache-control': 'private, no-store',
} as const

/** Encodes a name for `filename*` of RFC 8187. */
const encodeName = (name: string): string =>
  encodeURIComponent(name.toWellFormed().slice(0, 200).toWellFormed()).replace(
    /['()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16)}`,
  )
