/**
 * Renders the page of `/docs`. The reference component (ADR 0026) and the script that starts it are static files of our
 * own origin. Without JavaScript the page is a list of the routes.
 */

import type { OpenRoute, ApiRoute } from '../route.ts'
import { listOperations } from './render-document.ts'

/** Scripts and requests only of our own origin. The component writes its styles into the page. */
export const referencePolicy = [
  `default-src 'none'`,
  `script-src 'self'`,
  `style-src 'self' 'unsafe-inline'`,
  `connect-src 'self'`,
  `img-src 'self' data:`,
  `font-src 'self' data:`,
  `base-uri 'none'`,
  `form-action 'none'`,
  `frame-ancestors 'none'`,
].join('; ')

export function renderReferencePage(routes: readonly (ApiRoute | OpenRoute)[]): string {
  const groups = Map.groupBy(listOperations(routes), ({ route }) => route.tag)
  const list = [...groups].map(([tag, operations]) => {
    const rows = operations.map(
      ({ route, path }) =>
        `<li><code>${route.method.toUpperCase()} ${escapeHtml(path)}</code> ${escapeHtml(route.summary)}</li>`,
    )
    return `<h2>${escapeHtml(tag)}</h2>\n<ul>\n${rows.join('\n')}\n</ul>`
  })
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>Talaria API</title>
<link rel="icon" href="/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="/docs/page.css">
</head>
<body>
<p class="site"><a href="/docs/">Documentation</a> · <a href="/">The page</a></p>
<div id="reference"></div>
<div id="plain" class="plain">
<h1>Talaria API</h1>
<p id="state"></p>
<noscript><p>This is the list of routes. With JavaScript the page shows parameters, examples and a form to try them.</p></noscript>
<p>The document behind this page: <a href="/openapi.json">/openapi.json</a>. Send your key as <code>Authorization: Bearer KEY</code>.</p>
${list.join('\n')}
</div>
<script src="/docs/page.js"></script>
</body>
</html>
`
}

const escapeHtml = (text: string): string => text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`)
