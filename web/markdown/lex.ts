/**
 * Reads Markdown into a tree of our own. Of HTML it has the harmless elements of a list, without attributes; all other HTML
 * stays text. Addresses are checked here, so that drawing the tree can request nothing.
 */

import type { Token, Tokens } from 'marked'
import {
  type CiteToken,
  type FoldToken,
  lexer,
  lexInline,
  type MathToken,
  type NoteRefToken,
  type NoteToken,
} from './dialect.ts'
import { type ElementToken, type InlineElement, isHarmless, type Paired, pairTags } from './elements.ts'
import { checkLink, type CheckedLink } from './links.ts'
import { decodeEntities } from './entities.ts'
import { extensionOf, findPath, nameOf, splitAtFiles } from '../model/workspace-files.ts'

export type Node =
  | { readonly tag: 'text'; readonly text: string }
  | { readonly tag: 'code'; readonly text: string }
  | { readonly tag: 'pre'; readonly text: string; readonly lang: string }
  | { readonly tag: 'link'; readonly link: CheckedLink; readonly children: readonly Node[] }
  | { readonly tag: 'file'; readonly path: string; readonly text: string }
  | { readonly tag: 'image'; readonly text: string; readonly host: string; readonly data: string | undefined }
  | Heading
  | {
      readonly tag: 'list'
      readonly start: number | undefined
      /** Its items are paragraphs. */
      readonly isLoose: boolean
      readonly items: readonly ListItem[]
    }
  | { readonly tag: 'table'; readonly rows: readonly (readonly Cell[])[]; readonly head: readonly Cell[] }
  | { readonly tag: 'br' | 'hr' }
  | { readonly tag: 'math'; readonly text: string; readonly isBlock: boolean }
  | { readonly tag: 'element'; readonly name: InlineElement; readonly children: readonly Node[] }
  | {
      readonly tag: 'fold'
      readonly isOpen: boolean
      readonly summary: readonly Node[]
      readonly children: readonly Node[]
    }
  | { readonly tag: 'note'; readonly label: string; readonly children: readonly Node[] }
  | { readonly tag: 'noteRef'; readonly label: string }
  | SourceNode
  | { readonly tag: 'p' | 'quote' | 'em' | 'strong' | 'del' | 'span'; readonly children: readonly Node[] }
/** The source of a statement: a link with a title or a number, or a mark. `text` is its name in the sentence. */
type SourceNode = {
  readonly tag: 'source'
  readonly text: string
  readonly title: string
  readonly link: CheckedLink | undefined
}
/** `level` is its place in the outline of the text (stream.ts). A heading in a list or a quote has none. */
export type Heading = {
  readonly tag: 'heading'
  readonly depth: number
  readonly level?: number
  readonly children: readonly Node[]
}
type ListItem = { readonly checked: boolean | undefined; readonly children: readonly Node[] }
type Cell = { readonly align: string | null; readonly children: readonly Node[] }

/** Deeper nesting is shown as text: the lexer uses the stack. */
const maxDepth = 24

export type Block = { readonly raw: string; readonly nodes: readonly Node[] }

/** Reads the blocks of a text. `raw` is the part of the text that a block has been read from. */
export function lex(text: string): readonly Block[] {
  try {
    return lexer(text).map((token) => ({ raw: token.raw, nodes: toNodes([token], 0) }))
  } catch {
    // A text with thousands of nested quotes overflows the stack of the lexer.
    return [{ raw: text, nodes: [{ tag: 'pre', text, lang: '' }] }]
  }
}

const toNodes = (tokens: readonly Paired[] | undefined, depth: number): readonly Node[] =>
  pairTags((tokens ?? []) as readonly Token[]).flatMap((token) =>
    depth > maxDepth ? [{ tag: 'text' as const, text: rawOf(token) }] : toNode(token, depth + 1),
  )

const rawOf = (token: Paired): string =>
  token.type === 'element'
    ? `<${(token as ElementToken).name}>${(token as ElementToken).tokens.map(rawOf).join('')}</${(token as ElementToken).name}>`
    : (token as Token).raw

type Reader = (token: never, depth: number) => readonly Node[]
const group =
  (tag: 'p' | 'quote' | 'em' | 'strong' | 'del' | 'span'): Reader =>
  (token: Tokens.Generic, depth) => [{ tag, children: toNodes(token.tokens, depth) }]

const readers: Readonly<Record<string, Reader>> = {
  space: () => [],
  def: () => [],
  paragraph: group('p'),
  blockquote: group('quote'),
  em: group('em'),
  strong: group('strong'),
  del: group('del'),
  br: () => [{ tag: 'br' }],
  hr: () => [{ tag: 'hr' }],
  heading: (token: Tokens.Heading, depth) => [
    { tag: 'heading', depth: token.depth, children: toNodes(token.tokens, depth) },
  ],
  code: (token: Tokens.Code) => [{ tag: 'pre', text: token.text, lang: (token.lang ?? '').split(/\s/, 1)[0] ?? '' }],
  codespan: (token: Tokens.Codespan) => [{ tag: 'code', text: token.text }],
  link: (token: Tokens.Link, depth) => readLink(token, depth),
  image: (token: Tokens.Image) => [readImage(token)],
  list: (token: Tokens.List, depth) => [
    {
      tag: 'list',
      start: token.ordered ? Number(token.start) || 1 : undefined,
      isLoose: token.loose,
      items: token.items.map((item) => ({
        checked: item.task ? item.checked === true : undefined,
        children: toNodes(item.tokens, depth),
      })),
    },
  ],
  checkbox: () => [],
  table: (token: Tokens.Table, depth) => {
    const cell = ({ align, tokens }: Tokens.TableCell) => ({ align, children: toNodes(tokens, depth) })
    return [{ tag: 'table', head: token.header.map(cell), rows: token.rows.map((row) => row.map(cell)) }]
  },
  text: (token: Tokens.Text, depth) =>
    token.tokens ? toNodes(token.tokens, depth) : readText(decodeEntities(token.text)),
  escape: (token: Tokens.Escape) => [{ tag: 'text', text: token.text }],
  html: (token: Tokens.HTML, depth) =>
    token.block && isHarmless(token.raw)
      ? [{ tag: 'p', children: toNodes(lexInline(token.raw.trim()), depth) }]
      : [{ tag: 'text', text: token.raw }],
  element: ({ name, tokens }: ElementToken, depth) => [{ tag: 'element', name, children: toNodes(tokens, depth) }],
  math: ({ text, isBlock }: MathToken) => [{ tag: 'math', text, isBlock }],
  fold: ({ isOpen, summary, tokens }: FoldToken, depth) => [
    { tag: 'fold', isOpen, summary: toNodes(summary, depth), children: toNodes(tokens, depth) },
  ],
  note: ({ label, tokens }: NoteToken, depth) => [{ tag: 'note', label, children: toNodes(tokens, depth) }],
  noteRef: ({ label }: NoteRefToken) => [{ tag: 'noteRef', label }],
  cite: ({ text }: CiteToken) => [readCite(text)],
}

/** HTML and every unknown token is shown as it was written. */
const toNode = (token: Paired, depth: number): readonly Node[] => {
  const reader = Object.hasOwn(readers, token.type) ? readers[token.type] : undefined
  return reader ? reader(token as never, depth) : [{ tag: 'text', text: rawOf(token) }]
}

/** A mark as `【3†report.pdf】`: a number, what it names, or an address. */
function readCite(text: string): Node {
  const [number = '', name = ''] = text.split('†', 2)
  const link = checkLink(text.trim(), '')
  const words = /^(?:source|L\d.*)?$/.test(name.trim()) ? number : name
  return { tag: 'source', text: link ? hostOf(link) : decodeEntities(words.trim()), title: '', link }
}

const hostOf = ({ host }: CheckedLink): string => host.replace(/^www\./, '')

/** A link with a title, or under a number, is a source. Its host takes the place of a number. */
function readSource(token: Tokens.Link, link: CheckedLink): Node | undefined {
  const title = decodeEntities(token.title ?? '').trim()
  const text = decodeEntities(token.text)
    .replace(/[*_`\\[\]]/g, '')
    .trim()
  const isNumber = /^\^?\d{1,3}$/.test(text)
  if ((!title && !isNumber) || token.tokens.some(({ type }) => type === 'image')) return undefined
  const words = isNumber || !text ? hostOf(link) : text
  // The title is shown, too, and may name another host.
  const isSuspicious = link.isSuspicious || checkLink(link.href, title)?.isSuspicious === true
  return { tag: 'source', text: words, title: title || (isNumber ? '' : text), link: { ...link, isSuspicious } }
}

function readLink(token: Tokens.Link, depth: number): readonly Node[] {
  const href = decodeEntities(token.href)
  const link = checkLink(href, token.text)
  const path = link ? undefined : findFile(href)
  if (path !== undefined) return [{ tag: 'file', path, text: token.text.replace(/[*_`]/g, '') || nameOf(path) }]
  if (!link) return [{ tag: 'text', text: token.raw }]
  return [readSource(token, link) ?? { tag: 'link', link, children: toNodes(token.tokens, depth) }]
}

const readText = (text: string): readonly Node[] =>
  splitAtFiles(text).map(({ text: words, path }) =>
    path === undefined ? { tag: 'text', text: words } : { tag: 'file', path, text: words },
  )

/** Files have an extension. A word in brackets before another word is no link to one. */
function findFile(href: string): string | undefined {
  const path = findPath(href.replace(/^MEDIA:\s?/, ''))
  return path !== undefined && extensionOf(path) ? path : undefined
}

/** Only data of pictures is shown. Any other address would tell a server that it was seen, and more in its query. */
function readImage({ href, text }: Tokens.Image): Node {
  const path = findFile(href)
  if (path !== undefined) return { tag: 'file', path, text: text || nameOf(path) }
  const isData = /^data:image\/(?:png|jpeg|gif|webp);base64,[\w+/=]{1,1400000}$/.test(href)
  return { tag: 'image', text, host: isData ? '' : (checkLink(href, '')?.host ?? ''), data: isData ? href : undefined }
}
