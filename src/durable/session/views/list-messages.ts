/**
 * Lists the messages of a session page by page: back from the newest one, on from a message, or around one. Each page
 * names the event behind which its reader has to listen.
 */

import type { Entry } from '#agent/core/history.ts'
import { messageView, type MessageView } from './api-views.ts'
import { findRating, type RatingView } from '../core/ratings.ts'
import type { Session } from '../session.ts'

/**
 * Asks for at most `limit` messages: the newest with a seq below `before`, the oldest with one above `after`, or those
 * next to `around`. `preview`: the characters at which texts are cut. Long messages make a page shorter.
 */
export type MessagePage = {
  readonly limit: number
  readonly before?: number | undefined
  readonly after?: number | undefined
  readonly around?: number | undefined
  readonly preview?: number | undefined
}

export type MessageList = {
  /** Oldest first. */
  readonly data: readonly MessageView[]
  /** The `before` of the page with older messages. */
  readonly next_cursor: string | null
  /** The `after` of the page with newer messages. */
  readonly newer_cursor: string | null
  readonly event_seq: number
}

/** Above this no further row is added: a page is one RPC message, of at most 32 MiB. */
const maxPageChars = 4_000_000

type PagePart = {
  /** Oldest first. */
  readonly entries: readonly Entry[]
  /** The newest summary among the rows that were read. */
  readonly found?: Entry | undefined
  readonly hasMore: boolean
}
type PageParts = { readonly older: PagePart; readonly newer: PagePart }
const nothing: PagePart = { entries: [], hasMore: false }

export function listMessages(session: Session, page: MessagePage): MessageList {
  const { journal, store } = session
  const parts = readParts(journal, page)
  const entries = [...parts.older.entries, ...parts.newer.entries]
  const [first, last] = [entries.at(0), entries.at(-1)]
  return {
    data: viewsOf(session, page, parts),
    next_cursor: parts.older.hasMore && first ? String(first.seq) : null,
    newer_cursor: hasNewer(session, page, parts) ? String(last?.seq ?? page.before) : null,
    event_seq: store.shownThrough(),
  }
}

function viewsOf(session: Session, { before, preview }: MessagePage, { older, newer }: PageParts) {
  const { journal } = session
  const entries = [...older.entries, ...newer.entries]
  const last = entries.at(-1)?.seq
  const later = journal.summaryFrom(before ?? last ?? Number.MAX_SAFE_INTEGER)
  const summary = later ?? newer.found ?? older.found
  const views = entries.map((entry) => viewEntry(session, entry, summary))
  return preview === undefined ? views : views.map((view) => toPreview(view, preview))
}

const hasNewer = ({ store }: Session, { before }: MessagePage, { newer }: PageParts): boolean =>
  newer.hasMore || (before !== undefined && store.lastMessageSeq() >= before)

export function getMessage(session: Session, seq: number): MessageView | undefined {
  const { journal } = session
  const [entry] = journal.entriesAt([seq])
  return entry && viewEntry(session, entry, journal.summaryFrom(seq))
}

type RatedView = MessageView & { readonly rating?: RatingView }

function viewEntry(session: Session, entry: Entry, summary: Entry | undefined): RatedView {
  const { sessionId, meta } = session
  const rating = findRating(session, entry.seq)
  return { ...messageView(entry, { sessionId, summary, conversation: meta }), ...(rating && { rating }) }
}

function readParts(
  journal: Session['journal'],
  { limit, before = Number.MAX_SAFE_INTEGER, after, around }: MessagePage,
): PageParts {
  if (around !== undefined) {
    const half = Math.floor(limit / 2)
    return { older: readOlder(journal, around, half), newer: readNewer(journal, around - 1, limit - half) }
  }
  if (after === undefined) return { older: readOlder(journal, before, limit), newer: nothing }
  const newer = readNewer(journal, after, limit)
  return { older: { entries: [], hasMore: newer.entries.length > 0 && hasBefore(journal, after + 1) }, newer }
}

const hasBefore = (journal: Session['journal'], seq: number): boolean => readOlder(journal, seq, 0).hasMore

function readOlder(journal: Session['journal'], before: number, limit: number): PagePart {
  const newestFirst: Entry[] = []
  let found: Entry | undefined
  let length = 0
  for (const row of journal.entriesNewestFirst(before)) {
    if (newestFirst.length > limit || length > maxPageChars) return part(newestFirst, limit, { found, hasMore: true })
    for (const entry of row.entries.toReversed()) {
      if (entry.covers !== undefined) found ??= entry
      if (entry.seq < before) newestFirst.push(entry)
    }
    length += row.length
  }
  return part(newestFirst, limit, { found, hasMore: newestFirst.length > limit })
}

const part = (newestFirst: readonly Entry[], limit: number, rest: Omit<PagePart, 'entries'>): PagePart => ({
  entries: newestFirst.slice(0, limit).toReversed(),
  ...rest,
})

function readNewer(journal: Session['journal'], after: number, limit: number): PagePart {
  const entries: Entry[] = []
  let found: Entry | undefined
  let length = 0
  for (const row of journal.entriesOldestFirst(after + 1)) {
    if (entries.length > limit || length > maxPageChars)
      return { entries: entries.slice(0, limit), found, hasMore: true }
    for (const entry of row.entries) {
      if (entry.covers !== undefined) found = entry
      if (entry.seq > after) entries.push(entry)
    }
    length += row.length
  }
  return { entries: entries.slice(0, limit), found, hasMore: entries.length > limit }
}

type MessagePreview = MessageView & { readonly truncated?: true }

/** Cuts the long texts of a message. `GET …/messages/{seq}` has the whole message. `max`: characters of each text. */
function toPreview(view: MessageView, max: number): MessagePreview {
  let isCut = false
  const cut = (text: string): string => {
    if (text.length <= max) return text
    isCut = true
    return text.slice(0, max)
  }
  const { content, reasoning, tool_calls: calls } = view as MessageView & { readonly reasoning?: string }
  const shown = {
    ...view,
    content: Array.isArray(content)
      ? content.map((one) => ('text' in one ? { ...one, text: cut(one.text) } : one))
      : content && cut(content),
    ...(calls && {
      tool_calls: calls.map((call) => ({
        ...call,
        function: { ...call.function, arguments: cut(call.function.arguments) },
      })),
    }),
    ...(reasoning !== undefined && { reasoning: cut(reasoning) }),
  } as MessageView
  return isCut ? { ...shown, truncated: true } : shown
}
