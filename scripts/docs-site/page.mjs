/** Renders the frame of a page (navigation, search, footer) and llms.txt. */

import { escapeHtml } from './markdown.mjs'
import { addressOf } from './pages.mjs'

export function renderPage({ file, address, title }, { content, navigation, titles, version }) {
  const isDesign = /^docs\/(?:design|adr)\//.test(file)
  const sections = navigation.guides.map((section) => renderSection(section, file, titles)).join('\n')
  const design = navigation.design.map((section) => renderSection(section, file, titles)).join('\n')
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escapeHtml(title)} · Talaria</title>
<link rel="icon" href="/icon.svg" type="image/svg+xml">
<link rel="alternate" type="text/markdown" href="${markdownOf(address)}">
<link rel="stylesheet" href="/docs/site.css?${version}">
<script src="/docs/site.js?${version}" defer></script>
</head>
<body>
<nav aria-label="Documentation">
<a class="skip" href="#content">Skip to the page</a>
<a class="home" href="/docs/">Talaria</a>
<div class="search" role="search" hidden>
<input id="search" type="search" placeholder="Search ( / )" aria-label="Search the documentation" autocomplete="off">
<ul id="results" aria-live="polite"></ul>
</div>
<details class="menu"><summary>All pages</summary></details>
<div class="sections">
${sections}
<details${isDesign ? ' open' : ''}><summary>Design</summary>
${design}
</details>
<h2>This deployment</h2>
<ul><li><a href="/docs">API reference</a></li><li><a href="/">The page</a></li></ul>
</div>
</nav>
<main id="content">
${content}
<footer><a href="${markdownOf(address)}">This page as Markdown</a> · <code>${escapeHtml(file)}</code></footer>
</main>
</body>
</html>
`
}

const markdownOf = (address) => `${address}${address.endsWith('/') ? 'index' : ''}.md`

function renderSection({ title, pages }, current, titles) {
  const items = pages.map((page) => {
    const mark = page === current ? ' aria-current="page"' : ''
    return `<li><a href="${addressOf(page)}"${mark}>${escapeHtml(titles.get(page) ?? page)}</a></li>`
  })
  return `<h2>${escapeHtml(title)}</h2>\n<ul>\n${items.join('\n')}\n</ul>`
}

/** llms.txt: the pages as Markdown, for programs (https://llmstxt.org). */
export function renderIndex(pages, { guides, design }, titles) {
  const line = (page) => `- [${titles.get(page) ?? page}](${markdownOf(addressOf(page))})`
  const section = ({ title, pages: linked }) => `## ${title}\n\n${linked.map(line).join('\n')}`
  return `# Talaria

> An always-on AI agent on Cloudflare: sessions as Durable Objects, an API compatible with OpenAI's, tools, jobs, messengers.

The API is described in [/openapi.json](/openapi.json). All ${pages.length} pages are Markdown.

${guides.map(section).join('\n\n')}

## Optional

${design
  .flatMap(({ pages: linked }) => linked)
  .map(line)
  .join('\n')}
`
}
