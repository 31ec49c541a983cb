/** Reads an HTML page: finds its article, or leaves out what is no content, and renders the rest as Markdown. */

import { Readability } from '@mozilla/readability'
import { parseHTML } from 'linkedom/worker'
import { decodeText } from '../../decode-text.ts'
import type { PageRequest, PageText } from '../protocol.ts'
import { type HtmlSize, measureHtml } from './measure-html.ts'
import { renderArticle, renderPage } from './render-markdown.ts'

/** Beyond these, looking for the article takes seconds or minutes. A page of Wikipedia with 1 MB has half as many elements. */
const bounds: HtmlSize = {
  elements: 20_000,
  depth: 256,
  nesting: 500_000,
  attributes: 60_000,
  attributesOfOne: 200,
  fragments: 20_000,
}
/** Beyond it, and where the converter refuses, only the text of the page is taken. */
const maxMarkdownDepth = 1_000
/** A shorter article was probably not the article. */
const minArticleChars = 500
const minChars = 200
const maxCountedChars = 100_000
const maxMarkdownChars = 2_000_000
const maxTitleChars = 500

export async function readPage(stream: ReadableStream<Uint8Array>, { url, charset }: PageRequest): Promise<PageText> {
  const html = decodeText(new Uint8Array(await new Response(stream).arrayBuffer()), charset)
  const head = html.slice(0, 100_000)
  const base = resolve(attribute(head, baseTag), url) ?? url
  const size = measureHtml(html, maxMarkdownDepth)
  const article = findArticle(html, size)
  const markdown = (article && renderArticle(article.content, base)) ?? renderWhole(html, base, size)
  const metadata = readMetadata(head, base)
  return {
    ...metadata,
    ...article?.metadata,
    title: (article?.metadata.title ?? metadata.title).trim().slice(0, maxTitleChars),
    markdown: markdown.slice(0, maxMarkdownChars),
    needsScript: /<script\b/i.test(html) && countText(markdown.slice(0, maxCountedChars)) < minChars,
    by: article ? 'article' : 'page',
  }
}

type Metadata = { readonly title?: string; readonly date?: string; readonly language?: string }

function readMetadata(head: string, base: string): Metadata & { readonly title: string; readonly refresh?: string } {
  const refresh = resolve(attribute(head, refreshTag), base)
  const found = defined({ date: attribute(head, dateTag), language: attribute(head, languageTag) })
  return { ...found, title: titleOf(head, base), ...(refresh && { refresh }) }
}

/** Without what is empty. */
const defined = (values: Readonly<Record<string, string | null | undefined>>): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(values).flatMap(([name, value]) => (value ? [[name, value]] : [])))

type Article = { readonly content: string; readonly metadata: Metadata }

/** Undefined when the page has none, or is too large to look for it. */
function findArticle(html: string, size: HtmlSize): Article | undefined {
  if (isBeyondBounds(size)) return undefined
  try {
    const found = new Readability(parseHTML(html).document, { keepClasses: true }).parse()
    const { content, length, title, publishedTime, lang } = found ?? {}
    if (!content || (length ?? 0) < minArticleChars) return undefined
    return { content, metadata: defined({ title, date: publishedTime, language: lang }) }
  } catch {
    return undefined // Markup that its parser does not support. The whole page is converted instead.
  }
}

const isBeyondBounds = (size: HtmlSize): boolean =>
  Object.entries(bounds).some(([name, bound]) => size[name as keyof HtmlSize] > bound)

const renderWhole = (html: string, base: string, { depth }: HtmlSize): string =>
  (depth > maxMarkdownDepth ? undefined : renderPage(html, base)) ?? html.replace(/<[^<>]{0,2000}>/g, ' ')

const countText = (text: string): number => text.replace(/\]\([^)]{0,2000}\)|[\s#*|>[\]!_-]{1,100}/g, '').length

const titleTag = /<title[^>]{0,200}>([^<]{1,2000})/i
const baseTag = /<base\s[^>]{0,300}?href\s{0,9}=\s{0,9}["']?([^"'\s>]{1,2000})/i
const languageTag = /<html[^>]{0,500}?\slang\s{0,9}=\s{0,9}["']?([\w-]{1,35})/i
const dateTag = /<meta[^>]{0,300}?article:published_time["'][^>]{0,100}?content\s{0,9}=\s{0,9}["']([^"'<>]{1,64})/i
const refreshTag =
  /<meta[^>]{0,100}?http-equiv\s{0,9}=\s{0,9}["']?refresh["']?[^>]{0,100}?url\s{0,9}=\s{0,9}["']?([^"'\s>]{1,2000})/i

const attribute = (html: string, pattern: RegExp): string | undefined => pattern.exec(html)?.[1]

/** Also resolves entities. */
const titleOf = (head: string, base: string): string =>
  (renderArticle(`<p>${attribute(head, titleTag) ?? ''}</p>`, base) ?? '').replace(/\\(?=[!-/:-@[-`{-~])/g, '')

const resolve = (address: string | undefined, base: string): string | undefined =>
  address === undefined ? undefined : URL.parse(address.replaceAll('&amp;', '&'), base)?.href
