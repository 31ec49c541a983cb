/**
 * Serves an HTML file whose scripts run on an origin of their own and reach no network. `frame-src` of our page keeps its
 * frame from going elsewhere.
 */

import { previewHeaders } from './file-response.ts'

/** The list of allowed connections, which is empty, holds WebRTC and lookups of names, where a browser knows it. */
export const scriptPreviewHeaders = {
  ...previewHeaders,
  'content-security-policy': [
    'sandbox allow-scripts allow-forms',
    "default-src 'none'",
    "script-src 'unsafe-inline'",
    "style-src 'unsafe-inline'",
    'img-src data: blob:',
    'media-src data: blob:',
    'font-src data:',
    "form-action 'none'",
    "base-uri 'none'",
    "require-trusted-types-for 'script'",
    'trusted-types default',
    "frame-ancestors 'self'",
  ].join('; '),
  'connection-allowlist': '()',
  'x-dns-prefetch-control': 'off',
} as const

/** Frames would be documents in which the constructors of WebRTC are there again. */
const frames = String.raw`<(/?(?:iframe|frame|frameset|object|embed|portal|fencedframe))(?![\w-])`

/** Runs before the scripts of the page. The default policy sees all HTML that they write, and the addresses of scripts. */
const prologue = `<script>{
const frames = new RegExp(${JSON.stringify(frames)}, 'gi')
if (globalThis.trustedTypes) trustedTypes.createPolicy('default', {
  createHTML: (html, type, sink) => (/srcdoc/i.test(sink) ? null : html.replace(frames, '&lt;$1').replace(/srcdoc/gi, 'data-srcdoc')),
  createScript: (script, type, sink) => (/location/i.test(sink) ? null : script),
})
for (const name of Object.getOwnPropertyNames(globalThis)) if (/^(?:webkit)?RTC/.test(name)) delete globalThis[name]
}</script>`

export function renderScriptPreview(bytes: Uint8Array): Uint8Array {
  const html = new TextDecoder().decode(bytes).replace(new RegExp(frames, 'gi'), '&lt;$1')
  const [doctype = ''] = /^\s*<!doctype[^>]*>/i.exec(html) ?? []
  return new TextEncoder().encode(doctype + prologue + html.slice(doctype.length))
}
