/** Reads an HTML page: finds its article, or leaves out what is no content, and renders the rest as Markdown. */

import { Readability } from '@mozilla/readability'
import { parseHTML } from 'linkedom/worker'
import { decodeText } from '../../decode-text.ts'
import type { PageRequest, PageText } from '../protocol.ts'
import { Parser } from 'htmlparser2'
import { omitHidden, unwrapContent } from './page-content.ts'
import { unfoldMarkup } from './unfold-markup.ts'
import { htmlToMarkdown, type TextNode, type TransformPlugin } from '@mdream/js'

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
  const text = decodeText(new Uint8Array(await new Response(stream).arrayBuffer()), charset)
  const html = unfoldMarkup(unwrapContent(text))
  const head = html.slice(0, 100_000)
  const base = resolve(attribute(head, baseTag), url) ?? url
  const size = measureHtml(html, maxMarkdownDepth)
  const metadata = readMetadata(head, base)
  const whole = renderWhole(html, base, size)
  const found = findArticle(html, size)
  const rendered = found && renderArticle(found.content, base)
  const title = found?.metadata.title ?? metadata.title
  const article = rendered !== undefined && coversPage(rendered, whole, title) ? found : undefined
  const markdown = (article && rendered) ?? whole
  return {
    ...metadata,
    ...found?.metadata,
    title: title.trim().slice(0, maxTitleChars),
    markdown: markdown.slice(0, maxMarkdownChars),
    needsScript: /<script\b/i.test(html) && countText(markdown.slice(0, maxCountedChars)) < minChars,
    by: article ? 'article' : 'page',
  }
}

type PageMetadata = { readonly title?: string; readonly date?: string; readonly language?: string }

function readMetadata(
  head: string,
  base: string,
): PageMetadata & { readonly title: string; readonly refresh?: string } {
  const refresh = resolve(attribute(head, refreshTag), base)
  const found = defined({ date: attribute(head, dateTag), language: attribute(head, languageTag) })
  return { ...found, title: titleOf(head, base), ...(refresh && { refresh }) }
}

/** Without what is empty. */
const defined = (values: Readonly<Record<string, string | null | undefined>>): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(values).flatMap(([name, value]) => (value ? [[name, value]] : [])))

type Article = { readonly content: string; readonly metadata: PageMetadata }

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

/** Below it the page is no article: a product, a list, a profile, a thread. */
const minCoverage = 0.6

/**
 * Whether the article has most of the lines of the page that have text beside links. Lines are counted and not
 * characters, because the facts of a product are short and its reviews long.
 */
function coversPage(article: string, page: string, title: string): boolean {
  const lines = new Set(listTextLines(article))
  const ownTitle = new Set(listTextLines(title))
  const all = listTextLines(page).filter((line) => !ownTitle.has(line))
  return all.filter((line) => lines.has(line)).length >= all.length * minCoverage
}

const markdownLink = /\[[^\][\n]{0,500}\]\([^()\s]{0,2000}\)/g

/** The letters and digits of each line, without those of links. */
const listTextLines = (markdown: string): readonly string[] =>
  markdown
    .slice(0, maxCountedChars)
    .split('\n')
    // Twice: a link may hold a picture.
    .map((line) =>
      line
        .replaceAll(markdownLink, '')
        .replaceAll(markdownLink, '')
        .replaceAll(/[^\p{L}\p{N}]+/gu, ''),
    )
    .filter((line) => line.length > 1)

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

// Measures HTML in one pass of its parser, without a tree. Making the tree and finding the article in it takes time
// that grows faster than these numbers, so that hostile pages would take minutes.

type HtmlSize = {
  readonly elements: number
  readonly depth: number
  /** The sum of the depths of all elements, because each is looked up in those around it. */
  readonly nesting: number
  readonly attributes: number
  /** The most of one element, in which each is looked up among the others. */
  readonly attributesOfOne: number
  /** Comments, and texts that follow a text: one for each entity, and for each `<` that begins no tag. */
  readonly fragments: number
}

/** Stops at an element that is deeper than `maxDepth`, because the time of the pass grows with the depth. */
function measureHtml(html: string, maxDepth: number): HtmlSize {
  let [elements, depth, deepest, nesting] = [0, 0, 0, 0]
  let [attributes, ofThis, attributesOfOne, fragments] = [0, 0, 0, 0]
  let isAfterText = false
  // With the options of linkedom, so that it finds what linkedom finds.
  const options = { decodeEntities: true, lowerCaseAttributeNames: false }
  const parser = new Parser(
    {
      onopentagname() {
        elements++
        deepest = Math.max(deepest, ++depth)
        nesting += depth
        ofThis = 0
        isAfterText = false
        if (depth > maxDepth) parser.pause()
      },
      onattribute() {
        attributes++
        attributesOfOne = Math.max(attributesOfOne, ++ofThis)
      },
      onclosetag() {
        depth--
        isAfterText = false
      },
      ontext() {
        if (isAfterText) fragments++
        isAfterText = true
      },
      oncomment() {
        fragments++
      },
    },
    options,
  )
  parser.write(html)
  return { elements, depth: deepest, nesting, attributes, attributesOfOne, fragments }
}

/** The other ways of cleaning take quadratic time on hostile text. */
const clean = { blankLines: true, emptyImages: true }
const emptyLink = /(?<!!)\[\s{0,9}\]\([^()\s]{0,2000}\)/g

/** Beyond these, a hostile page would take minutes: each line is written again for every quote around it. */
const maxQuotedLines = 400_000
/** The sum of the depths of all texts and elements. */
const maxNesting = 20_000_000

/** Renders the HTML of an article, from which everything else is removed. Returns undefined when it is nested too much. */
const renderArticle = (html: string, base: string): string | undefined => render(html, base)

/**
 * Renders a whole page, without what is no content. Some pages hide all of their content from assistive software.
 * Returns undefined when it is nested too much.
 */
function renderPage(html: string, base: string): string | undefined {
  const markdown = render(html, base, omitHidden({ hasAside: false }))
  return markdown === '' ? render(html, base, omitHidden({ hasAside: true })) : markdown
}

function render(html: string, base: string, omission?: TransformPlugin): string | undefined {
  const hooks = [boundNesting(), ...(omission ? [omission] : []), rowsWithoutTables, absoluteAddresses(base)]
  try {
    return htmlToMarkdown(html, { clean, hooks }).replace(emptyLink, '').trim()
  } catch (error) {
    if (error instanceof NestedTooMuch) return undefined
    throw error
  }
}

class NestedTooMuch extends Error {
  override readonly name = 'NestedTooMuch'
}

/** Counts in the converter itself, because other parsers see other elements in broken HTML. */
function boundNesting(): TransformPlugin {
  let [quotedLines, nesting] = [0, 0]
  return {
    beforeNodeProcess({ node }, { depth = 0, bufferedBlockquoteDepth: quotes = 0 }) {
      nesting += depth
      if (quotes > 0) quotedLines += quotes * countLines((node as Partial<TextNode>).value)
      if (quotedLines > maxQuotedLines || nesting > maxNesting) throw new NestedTooMuch()
      return undefined
    },
  }
}

/** Elements have no value. */
const countLines = (value = ''): number => value.split('\n').length

/** The converter fails on a row or cell outside of a table. */
const rowsWithoutTables: TransformPlugin = {
  beforeNodeProcess(_event, state) {
    state.tableColumnAlignments ??= []
    state.tableCurrentRowCells ??= 0
    return undefined
  },
}

const absoluteAddresses = (base: string): TransformPlugin => ({
  processAttributes({ attributes }) {
    for (const name of ['href', 'src'])
      if (attributes[name] !== undefined) attributes[name] = absolute(attributes[name], base)
  },
})

/** Long `data:` addresses hold files. Those of scripts lead nowhere. */
function absolute(address: string, base: string): string {
  const found = URL.parse(address, base)
  if (!found) return ''
  if (found.protocol === 'data:') return 'data:omitted'
  return /^(?:https?|mailto|tel|ftp):$/.test(found.protocol) ? found.href : ''
}
