/** Counts the messages and calls of a session, and keeps one line about it. Its list shows them, and filters by tools. */

import type { Entry } from './history.ts'
import { allMarks, type Marks } from './marks.ts'
import { callsIn, textIn } from './message.ts'

/** A line about a session: from the newest summary of its conversation, else the beginning of the last answer. */
export type SessionLine = {
  readonly text: string
  /** The message that it comes from. */
  readonly seq: number
  readonly marks: Marks
  readonly isSummary?: true
}

/** The names of fields are stored, with turns and in history. */
export type Facets = {
  readonly messages: number
  /** Absent: the session is older than this count. */
  readonly calls?: number | undefined
  /** The number of calls by tool. */
  readonly tools: Readonly<Record<string, number>>
  readonly line?: SessionLine | undefined
}

export const noFacets: Facets = { messages: 0, calls: 0, tools: {} }

/** Calls of further tools count without their names: a client may bring any number of them. */
const maxTools = 64
const maxLineChars = 160
/** The line begins in these. Longer than what is read for it, so that a secret at its end is masked whole. */
const maxMaskedChars = 8_000
const maxReadChars = 1_600

type CountedEntry = Pick<Entry, 'seq' | 'message' | 'covers'>
export type FacetOptions = {
  readonly redact: (text: string) => string
  /** Whether a message is part of the current conversation of the session. */
  readonly isCurrent: (seq: number) => boolean
  /** Reads the summary from the message that has it. */
  readonly parseSummary: (message: Entry['message']) => string
}

/** Adds a message to the facets of those before it. */
export function addFacets(facets: Facets, entry: CountedEntry, options: FacetOptions): Facets {
  const { message } = entry
  const line = createLine(facets.line, entry, options)
  const counted = { ...facets, messages: facets.messages + 1, ...(line && { line }) }
  if (message.role !== 'assistant') return counted
  const calls = callsIn(message)
  if (!calls.length) return counted
  const tools = new Map(Object.entries(facets.tools))
  for (const { name } of calls)
    if (tools.has(name) || tools.size < maxTools) tools.set(name, (tools.get(name) ?? 0) + 1)
  return { ...counted, calls: (facets.calls ?? 0) + calls.length, tools: Object.fromEntries(tools) }
}

function createLine(
  before: SessionLine | undefined,
  { seq, message, covers }: CountedEntry,
  { redact, isCurrent, parseSummary }: FacetOptions,
): SessionLine | undefined {
  const marks = 'marks' in message && message.marks !== undefined ? message.marks : allMarks
  if (covers !== undefined) {
    const text = firstLineOf(redact(parseSummary(message).slice(0, maxMaskedChars)))
    return text ? { text, seq, marks, isSummary: true } : before
  }
  if (message.role !== 'assistant' || (before?.isSummary && isCurrent(before.seq))) return before
  const answer = textIn(message)
  const text = answer && firstLineOf(redact(answer.slice(0, maxMaskedChars)))
  return text ? { text, seq, marks } : before
}

/** Names that are used most come first. */
export const listTools = ({
  tools,
}: Pick<Facets, 'tools'>): readonly { readonly name: string; readonly calls: number }[] =>
  Object.entries(tools)
    .toSorted(([a, one], [b, other]) => other - one || (a < b ? -1 : 1))
    .map(([name, calls]) => ({ name, calls }))

/** Lines of Markdown that say nothing by themselves: fences, rules, rows of tables. */
const isStructure = (line: string): boolean => /^(?:```|~~~|\||[-=*_]{3,}$|<[^>]*>$)/.test(line)
const lineStart = /^(?:>\s*|[-*+•]\s+|\d{1,3}[.)]\s+)+/u
const emphasis = /(\*\*|__|~~|`+|(?<![\p{L}\p{N}])[*_](?=\S)|(?<=\S)[*_](?![\p{L}\p{N}]))/gu
const link = /!?\[([^[\]]{0,400})\]\([^()\s]{0,800}(?:\s[^()]{0,400})?\)/g

/** Reads the beginning of a Markdown text as plain text in one line. A heading counts only when nothing follows it. */
export function firstLineOf(markdown: string): string {
  const lines = markdown
    .slice(0, maxReadChars)
    .split(/[\r\n\u2028\u2029]+/u)
    .map((line) => line.trim())
    .filter((line) => line !== '' && !isStructure(line))
  const isHeading = (line: string) => /^#{1,6}\s/.test(line)
  const titled = (line: string) => line.replace(/^#{1,6}\s+/, '').replace(/^[\p{L} ]{1,20}:\s+(?=\S)/u, '')
  // "## Goal: the purpose" says something, "## Goal" does not.
  const wanted = lines.flatMap((line) => (!isHeading(line) ? [line] : /:\s+\S/.test(line) ? [titled(line)] : []))
  const plain = (wanted.length ? wanted : lines.map(titled))
    .map((line) => line.replace(lineStart, ''))
    .join(' ')
    .replace(link, '$1')
    .replace(emphasis, '')
    .replaceAll(/[\p{Cc}\s]+/gu, ' ')
    .trim()
    .toWellFormed()
  return truncateAtWord(plain)
}

function truncateAtWord(text: string): string {
  if (text.length <= maxLineChars) return text
  const cut = text.slice(0, maxLineChars - 1)
  const space = cut.lastIndexOf(' ')
  const whole = space > maxLineChars / 2 ? cut.slice(0, space) : cut
  return `${whole.isWellFormed() ? whole : whole.slice(0, -1)}…`
}
