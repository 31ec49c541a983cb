/** Finds the elements of HTML that a text may have: harmless ones without attributes. All other HTML stays text. */

import type { Token } from 'marked'

export const inlineElements = [
  'abbr',
  'b',
  'cite',
  'code',
  'del',
  'em',
  'i',
  'ins',
  'kbd',
  'mark',
  'q',
  's',
  'samp',
  'small',
  'strong',
  'sub',
  'sup',
  'u',
  'var',
] as const
export type InlineElement = (typeof inlineElements)[number]

export type ElementToken = {
  readonly type: 'element'
  readonly name: InlineElement
  readonly tokens: readonly Paired[]
}
/** A tag without content. */
export type BreakToken = { readonly type: 'br' | 'hr'; readonly raw: string }
export type Paired = Token | ElementToken | BreakToken

/** Tags between the two of an element, that have no end themselves. More would take long to search. */
const maxUnclosed = 50

const names: ReadonlySet<string> = new Set(inlineElements)
const tagPattern = /^<(\/?)([a-z]{1,6})\s*>$/i
const breakPattern = /^<(br|hr)\s*\/?>$/i

type Tag = { readonly name: string; readonly isEnd: boolean }

function readTag({ type, raw }: Token): Tag | undefined {
  if (type !== 'html') return undefined
  const [, slash, name = ''] = tagPattern.exec(raw.trim()) ?? []
  return names.has(name.toLowerCase()) ? { name: name.toLowerCase(), isEnd: slash === '/' } : undefined
}

type Open = { readonly name: string; readonly at: number }

/** Removes the last open tag of this name, and those within it, which have no end. */
function close(open: Open[], name: string): Open | undefined {
  for (;;) {
    const last = open.pop()
    if (!last || last.name === name) return last
  }
}

/** By the place of each tag that begins an element, the place of the tag that ends it. */
function findEnds(tags: readonly (Tag | undefined)[]): ReadonlyMap<number, number> {
  const ends = new Map<number, number>()
  const open: Open[] = []
  for (const [at, tag] of tags.entries()) {
    if (!tag) continue
    if (!tag.isEnd) open.push({ name: tag.name, at })
    else if (open.slice(-maxUnclosed).some(({ name }) => name === tag.name))
      ends.set(close(open, tag.name)?.at ?? -1, at)
  }
  return ends
}

/** Joins the tokens between the tags of an element. A tag without its other half stays. */
export function pairTags(tokens: readonly Token[]): readonly Paired[] {
  if (!tokens.some(({ type }) => type === 'html')) return tokens
  const ends = findEnds(tokens.map(readTag))
  const build = (from: number, to: number): readonly Paired[] => {
    const built: Paired[] = []
    for (let at = from; at < to; at++) {
      const token = tokens[at] as Token
      const end = ends.get(at)
      const [, name] = token.type === 'html' ? (breakPattern.exec(token.raw.trim()) ?? []) : []
      if (end !== undefined) {
        built.push({ type: 'element', name: readTag(token)?.name as InlineElement, tokens: build(at + 1, end) })
        at = end
      } else built.push(name ? { type: name.toLowerCase() as 'br' | 'hr', raw: token.raw } : token)
    }
    return built
  }
  return build(0, tokens.length)
}

/** True for a block of HTML in which every tag may be an element. */
export function isHarmless(html: string): boolean {
  const tags = html.match(/<[^>]{0,1000}>?/g) ?? []
  const isKnown = (tag: string) => breakPattern.test(tag) || names.has(tagPattern.exec(tag)?.[2]?.toLowerCase() ?? '')
  return tags.length > 0 && tags.every(isKnown)
}
