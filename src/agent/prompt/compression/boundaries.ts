/**
 * Determines which messages a summary replaces: all but the first ones, the last ones and the requests that are being
 * worked on. A call and its results are one group, which is replaced or kept as a whole.
 */

import type { KeptMessages } from '#agent/core/compression.ts'
import type { Entry } from '#agent/core/history.ts'
import type { Message, MessageSource } from '#agent/core/message.ts'

export type BoundaryOptions = {
  /** First messages to keep. They are kept until the second compression. */
  readonly protectFirst: number
  /** Last messages to keep, as far as they fit into `tailTokens`. */
  readonly protectLast: number
  readonly tailTokens: number
  /** A person has asked for exactly these last messages of people to stay, with their answers, whatever their size. */
  readonly keepTurns?: number
}

export type CompressionPlan = {
  /** The messages to replace, oldest first. Empty: there is nothing to compress. */
  readonly replaced: readonly Entry[]
  /** The summary to update. */
  readonly previous: Entry | undefined
  /** The seq up to which messages are replaced, except for the kept ones. */
  readonly covers: number
  readonly keeps: KeptMessages
  /** Estimated tokens of the replaced messages, without the previous summary. */
  readonly tokens: number
  /** The first message after the summary, if any. */
  readonly follows: Message['role'] | undefined
}

/** Kept whatever their size. */
const minTail = 3
/** Kept when they are at most half as large again as the budget. */
const wishedTail = 8
const toleratedExcess = 1.5

/** `context`: the entries in the order in which they are sent. */
export function planCompression(context: readonly Entry[], options: BoundaryOptions): CompressionPlan {
  const previous = context.findLast(({ covers }) => covers !== undefined)
  const entries = context.filter(({ covers }) => covers === undefined).toSorted((a, b) => a.seq - b.seq)
  const start = findTailStart(entries, options)
  const older = entries.slice(0, start)
  const requests = findOpenRequests(entries).filter((entry) => older.includes(entry))
  const follows = requests.length ? 'user' : entries[start]?.message.role
  const beforeRequest = requests[0] ? older.slice(0, older.indexOf(requests[0])) : older
  const head = previous ? [] : findHead(beforeRequest, options, { follows, olderCount: older.length })
  const kept = new Set([...head, ...requests])
  const replaced = older.filter((entry) => !kept.has(entry))
  return {
    replaced,
    previous,
    covers: older.at(-1)?.seq ?? 0,
    keeps: {
      head: head.map(({ seq }) => seq),
      requests: requests.map(({ seq }) => seq),
    },
    tokens: sumTokens(replaced),
    follows,
  }
}

const sumTokens = (entries: readonly Entry[]): number => entries.reduce((sum, { tokens }) => sum + tokens, 0)

/** Returns the index of the first message of the tail. At most half of the messages are kept, beyond the last group. */
function findTailStart(entries: readonly Entry[], { protectLast, tailTokens, keepTurns }: BoundaryOptions): number {
  if (keepTurns !== undefined) return findTurnStart(entries, keepTurns)
  const half = Math.floor(entries.length / 2)
  const required = Math.min(minTail, half)
  const most = Math.min(Math.max(protectLast, minTail), half)
  let start = entries.length
  let tokens = 0
  while (start > 0) {
    const from = startOfGroup(entries, start - 1)
    const count = entries.length - from
    tokens += sumTokens(entries.slice(from, start))
    const budget = count <= wishedTail ? tailTokens * toleratedExcess : tailTokens
    const isRequired = entries.length - start < required
    if (!isRequired && (count > most || tokens > budget)) break
    start = from
  }
  return start
}

/** The index of the message that begins the last `turns` turns. 0: there are no more. */
function findTurnStart(entries: readonly Entry[], turns: number): number {
  const asked = entries.flatMap(({ message }, index) =>
    message.role === 'user' && message.source === undefined ? [index] : [],
  )
  return asked.at(-turns) ?? 0
}

function startOfGroup(entries: readonly Entry[], index: number): number {
  let start = index
  while (start > 0 && entries[start]?.message.role === 'tool') start--
  return start
}

/**
 * Returns the first messages to keep, which end before an open request. There is no head in a short conversation, of
 * which it would be the larger part, nor one that is larger than the tail may be.
 */
function findHead(
  first: readonly Entry[],
  { protectFirst, tailTokens }: BoundaryOptions,
  { follows, olderCount }: { readonly follows: Message['role'] | undefined; readonly olderCount: number },
): readonly Entry[] {
  let end = Math.min(protectFirst, first.length)
  while (end > 0 && first[end]?.message.role === 'tool') end++
  if (olderCount < 2 * end) return []
  let head = first.slice(0, end)
  while (head.length && (sumTokens(head) > tailTokens || breaksAlternation(head, follows)))
    head = head.slice(0, startOfGroup(head, head.length - 1))
  return head
}

/** No role suits a summary between a user's message and an assistant's. */
const breaksAlternation = (head: readonly Entry[], follows: Message['role'] | undefined): boolean =>
  head.at(-1)?.message.role === 'user' && follows === 'assistant'

const notRequested: ReadonlySet<MessageSource> = new Set(['notice', 'nudge', 'summary'])

const isRequest = ({ message }: Entry): boolean =>
  message.role === 'user' && !(message.source && notRequested.has(message.source))

/** Returns the newest request, and the one that opened the newest run when messages have redirected it since. */
function findOpenRequests(entries: readonly Entry[]): readonly Entry[] {
  const newestRun = entries.at(-1)?.runId
  const opening = entries.find((entry) => entry.runId === newestRun && isRequest(entry))
  const newest = entries.findLast(isRequest)
  return [...new Set([opening, newest])].filter((entry) => entry !== undefined)
}
