/** Encodes styled text as HTML, for email. Only tags of its own are in the result: the text is escaped. */

import type { MessageChunk, TextSpan } from '#agent/core/delivery.ts'
import { nestSpans, type SpanNode } from './nest-spans.ts'

const tags: Readonly<Record<TextSpan['type'], string>> = {
  bold: 'strong',
  italic: 'em',
  underline: 'u',
  strikethrough: 's',
  spoiler: 'span',
  code: 'code',
  pre: 'pre',
  link: 'a',
  quote: 'blockquote',
}

export const encodeHtml = ({ text, spans }: MessageChunk): string =>
  `<div>${encodeRange(text, nestSpans(spans, 0, text.length), { from: 0, to: text.length, isPre: false })}</div>`

type HtmlRange = { readonly from: number; readonly to: number; readonly isPre: boolean }

function encodeRange(text: string, nodes: readonly SpanNode[], { from, to, isPre }: HtmlRange): string {
  let out = ''
  let at = from
  for (const node of nodes) {
    out += encodeText(text.slice(at, node.from), isPre) + encodeNode(text, node, isPre)
    at = node.to
  }
  return out + encodeText(text.slice(at, to), isPre)
}

function encodeNode(text: string, { span, from, to, children }: SpanNode, isPre: boolean): string {
  const tag = tags[span.type]
  const href = span.type === 'link' && span.url !== undefined ? ` href="${escape(span.url)}" rel="noreferrer"` : ''
  const inner = encodeRange(text, children, { from, to, isPre: isPre || span.type === 'pre' })
  return `<${tag}${href}>${inner}</${tag}>`
}

const encodeText = (text: string, isPre: boolean): string =>
  isPre ? escape(text) : escape(text).replaceAll('\n', '<br>\n')

const escape = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')
