/** Renders the Markdown of a page as HTML without scripts, inline styles and raw HTML. */

import { Marked } from 'marked'
import { addressOf, resolveLink } from './pages.mjs'

export const escapeHtml = (text) => text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)

/** The text of a heading without its marks. */
export const plainHeading = (text) =>
  text
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/[`*]/g, '')
    .replace(/&quot;/g, '"')
    .trim()

/** Anchors of headings as GitHub makes them. Repeated ones get a number. */
export function createSlugger() {
  const seen = new Map()
  return (text) => {
    const slug = plainHeading(text)
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .replace(/\s/g, '-')
    const count = seen.get(slug) ?? 0
    seen.set(slug, count + 1)
    return count ? `${slug}-${count}` : slug
  }
}

/** The headings of a Markdown text with their anchors and levels. Code blocks have none. */
export function listHeadings(text) {
  const slugOf = createSlugger()
  return new Marked()
    .lexer(text)
    .filter(({ type }) => type === 'heading')
    .map(({ depth, text: title }) => ({ depth, title: plainHeading(title), anchor: slugOf(title) }))
}

/** `draw` turns a diagram into the address of a picture, or undefined. */
export function renderMarkdown(page, text, { draw }) {
  const slugOf = createSlugger()
  const renderer = {
    heading({ tokens, depth, text: title }) {
      const anchor = slugOf(title)
      return `<h${depth} id="${anchor}">${this.parser.parseInline(tokens)} <a class="anchor" href="#${anchor}" aria-label="Link to this section">#</a></h${depth}>\n`
    },
    link({ href, tokens }) {
      const content = this.parser.parseInline(tokens)
      const linked = resolveLink(page, href)
      if (!linked) return isSafe(href) ? `<a href="${escapeHtml(href)}">${content}</a>` : content
      const address = addressOf(linked.file)
      // Files of the repository are no pages of the site.
      if (!address) return `<span class="file" title="${escapeHtml(linked.file)}">${content}</span>`
      return `<a href="${address}${linked.anchor ? `#${escapeHtml(linked.anchor)}` : ''}">${content}</a>`
    },
    image({ href, text: alternative }) {
      const file = resolveLink(page, href)?.file
      if (!file?.startsWith('docs/')) return escapeHtml(alternative)
      return `<img src="/${escapeHtml(file)}" alt="${escapeHtml(alternative)}" loading="lazy">`
    },
    code({ text: code, lang = '' }) {
      const picture = lang === 'mermaid' ? draw(code) : undefined
      if (picture) return `<p><img class="diagram" src="${picture}" alt="Diagram: ${escapeHtml(code)}"></p>\n`
      return `<pre tabindex="0"><code>${escapeHtml(code)}\n</code></pre>\n`
    },
    table({ header, rows }) {
      const row = (cells, tag) =>
        `<tr>${cells.map(({ tokens }) => `<${tag}>${this.parser.parseInline(tokens)}</${tag}>`).join('')}</tr>`
      const body = rows.map((cells) => row(cells, 'td')).join('\n')
      const head = header.some(({ text: name }) => name) ? `<thead>${row(header, 'th')}</thead>\n` : ''
      return `<div class="table" tabindex="0"><table>\n${head}<tbody>${body}</tbody>\n</table></div>\n`
    },
    html: ({ text: raw }) => (raw.startsWith('<!--') || /^<\/?sub>/.test(raw.trim()) ? '' : escapeHtml(raw)),
  }
  return new Marked({ renderer }).parse(text)
}

const isSafe = (href) => /^(?:https?:|mailto:|\/(?!\/))/.test(href)
