/**
 * Copies new rows of a session to history (D1). History stores how far it is; a restarted object reads that once. All
 * writes are keyed, so that repeating them changes nothing.
 */

import { toStoredTurn } from './stored-turn.ts'
import type { Entry, HistoryStore, KnownRecord, Page, SessionRecord, SpentTurn } from '#agent/core/history.ts'
import { isOver, type Turn } from '#agent/core/turn.ts'
import type { Usage } from '#agent/core/usage.ts'
import { importRunId, type Journal, type StepRow } from './journal.ts'
import { argumentsOf, type Message } from '#agent/core/message.ts'
import { maxPageBytes } from '#db/page-row.ts'
import { fitsBytes, utf8Bytes } from '#durable/platform/row-size.ts'

/** The size at which a page ends, in characters of messages. */
const pageChars = 128 * 1024
/** The size at which a batch ends. After an outage history may lack the whole session. */
const batchChars = 2 * 1024 * 1024

export type ProjectionOptions = {
  readonly journal: Journal
  readonly history: () => HistoryStore
  readonly record: () => SessionRecord
  /** The usage of a turn, with what was billed after its end. */
  readonly usageOf: UsageOf
  /** Messages up to this seq repeat another conversation: they are stored but not searched. */
  readonly repeatedThrough: () => number
  /** Publishes the pending requests to the tenant's list. */
  readonly publishPending: () => Promise<void>
  /** The first undone message that history still has; `done` confirms that it is removed there. */
  readonly undone: { readonly from: () => number | undefined; readonly done: (from: number) => void }
}

export class Projection {
  readonly #options: ProjectionOptions
  #through: number | undefined
  #known: KnownRecord | undefined
  /** The last ended turn that was sent, and the seq before the pages that ended it. */
  #lastEnded: { readonly runId: string; readonly after: number } | undefined
  /** Everything after this seq is sent again. */
  #repeatAfter: number | undefined
  #running: Promise<void> | undefined
  #again = false

  constructor(options: ProjectionOptions) {
    this.#options = options
  }

  /** Sets how far history is, for a session that is new or was rebuilt from it. */
  startAt(through: number, known?: KnownRecord): void {
    this.#through = through
    this.#known = known
  }

  /**
   * Sends an ended turn again because its record has changed. The pages start at the same message as before: a page that
   * starts earlier would repeat messages of another page.
   */
  repeatTurn(runId: string): void {
    if (this.#lastEnded?.runId === runId) this.#repeatAfter = this.#lastEnded.after
  }

  /** Sends everything that history lacks, one run at a time. Rejects when history cannot be reached; nothing is lost. */
  run(): Promise<void> {
    if (this.#running) this.#again = true
    return (this.#running ??= this.#loop().finally(() => (this.#running = undefined)))
  }

  /** Resolves when nothing is being sent, after success or failure. */
  settled(): Promise<void> {
    return (this.#running ?? Promise.resolve()).catch(() => undefined)
  }

  /** The cost of ended turns that history does not have, for a session that is being deleted. */
  unsentTurns(): SpentTurn[] {
    const { journal, record, usageOf } = this.#options
    const { source } = record()
    const turns: Turn[] = []
    for (const { turn } of journal.unprojected(this.#through ?? 0)) if (turn && isOver(turn)) turns.push(turn)
    return turns.slice(-maxUnsentTurns).map((turn) => toSpentTurn({ ...turn, usage: usageOf(turn) }, source))
  }

  async #loop(): Promise<void> {
    do {
      this.#again = false
      await this.#send()
    } while (this.#again)
  }

  async #send(): Promise<void> {
    const { journal, history, record, publishPending, undone } = this.#options
    const store = history()
    const session = record()
    let known = this.#known
    // A failed batch may have been written: the stored record is unknown until the next success.
    this.#known = undefined
    // Started first: people can answer while history is unreachable.
    const published = publishPending()
    published.catch(() => undefined)
    this.#through ??= (await store.readSyncState(session.id))?.through ?? 0
    const from = undone.from()
    if (from !== undefined) {
      const turns = journal.undoneTurns(from)
      await store.truncate(
        session.id,
        from,
        turns.map((turn) => toSpentTurn(turn, session.source)),
      )
      this.#through = Math.min(this.#through, from - 1)
      known = undefined
      undone.done(from)
    }
    this.#through = Math.min(this.#through, this.#repeatAfter ?? Infinity)
    this.#repeatAfter = undefined
    const { pages, through, isPartial } = buildPages(this.#options, this.#through)
    if (isPartial) this.#again = true
    const end = pages.findLast(({ turn }) => turn !== undefined)
    // A later summary belongs to the same turn.
    if (end && end.runId !== this.#lastEnded?.runId) this.#lastEnded = { runId: end.runId, after: this.#through }
    await store.append(session, pages, known)
    this.#known = session
    await published
    this.#through = Math.max(this.#through, through)
  }
}

type UsageOf = (turn: Turn) => Usage

type ProjectedPageOptions = Pick<ProjectionOptions, 'journal' | 'usageOf' | 'repeatedThrough'>

/** Builds the pages that history lacks after seq `after`, and returns the seq they reach. */
function buildPages(
  options: ProjectedPageOptions,
  after: number,
): { readonly pages: Page[]; readonly through: number; readonly isPartial: boolean } {
  const { rows, isPartial } = readBatch(options.journal, after)
  const pages = new Pages(options)
  for (const { row, turn, texts } of rows) {
    for (const [i, entry] of row.entries.entries()) if (entry.seq > after) pages.add(row.runId, entry, texts[i] ?? '')
    if (turn && isOver(turn)) pages.close(turn)
  }
  pages.close()
  return { pages: pages.closed, through: rows.at(-1)?.row.entries.at(-1)?.seq ?? after, isPartial }
}

/** `texts`: the JSON of each entry. */
type UnsentRow = { readonly row: StepRow; readonly turn: Turn | undefined; readonly texts: readonly string[] }

/** `isPartial`: history lacks more rows than these. */
function readBatch(journal: Journal, after: number): { readonly rows: UnsentRow[]; readonly isPartial: boolean } {
  const rows: UnsentRow[] = []
  let chars = 0
  for (const { row, turn } of journal.unprojected(after)) {
    if (chars >= batchChars) return { rows, isPartial: true }
    const texts = row.entries.map((entry) => JSON.stringify(entry))
    rows.push({ row, turn, texts })
    chars += texts.reduce((sum, { length }) => sum + length, 0)
  }
  // Only the newest row of an open turn can grow. It is complete with the model's reply.
  if (rows.length && canGrow(rows.at(-1)!)) rows.pop()
  return { rows, isPartial: false }
}

const canGrow = ({ row: { entries }, turn }: UnsentRow): boolean =>
  turn !== undefined && !isOver(turn) && entries.at(-1)?.message.role !== 'assistant'

type OpenPage = { readonly runId: string; readonly entries: Entry[]; length: number }

/** Groups consecutive entries of a turn into pages of limited size. */
class Pages {
  readonly closed: Page[] = []
  readonly #options: ProjectedPageOptions
  #open: OpenPage | undefined

  constructor(options: ProjectedPageOptions) {
    this.#options = options
  }

  /** `text`: the entry as JSON. */
  add(runId: string, entry: Entry, text: string): void {
    const { length } = text
    if (this.#open && (this.#endsBefore(this.#open, runId, entry) || this.#open.length + length > pageChars))
      this.close()
    this.#open ??= { runId, entries: [], length: 0 }
    this.#open.entries.push(truncateForHistory(entry, text))
    this.#open.length += length
  }

  /** Imported messages have no turns: a page ends where a turn would, so that a search finds the place in a long session. */
  #endsBefore(open: OpenPage, runId: string, { message, seq }: Entry): boolean {
    if (open.runId !== runId) return true
    const isImported = runId === importRunId && seq > this.#options.repeatedThrough()
    return isImported && message.role === 'user' && open.entries.at(-1)?.message.role !== 'user'
  }

  close(turn?: Turn): void {
    if (this.#open) this.closed.push(createPage(this.#open, turn, this.#options))
    this.#open = undefined
  }
}

/** There are more only after a long outage of D1. */
const maxUnsentTurns = 50

const toSpentTurn = (turn: Turn, source: string): SpentTurn => ({
  runId: turn.id,
  at: turn.stage.at === 'done' ? turn.stage.endedAt : turn.startedAt,
  source,
  model: turn.options.model,
  usage: turn.usage,
})

function createPage(
  { runId, entries }: OpenPage,
  turn: Turn | undefined,
  { usageOf, repeatedThrough }: ProjectedPageOptions,
): Page {
  const isRepeated = runId === importRunId && (entries.at(-1)?.seq ?? 0) <= repeatedThrough()
  return {
    n: entries[0]?.seq ?? 0,
    runId,
    at: entries.at(-1)?.at ?? 0,
    entries,
    ...(turn && { turn: toStoredTurn(truncateTurnForHistory(turn, entries)), usage: usageOf(turn) }),
    ...(turn?.options.model && { model: turn.options.model }),
    ...(isRepeated && { indexed: false }),
  }
}

// Truncates messages and instructions that are too large for a row of D1. The session keeps the whole message; only a
// session that is rebuilt from history has the shorter one.

/** The rest of the row is for the turn. */
const maxMessageBytes = 1_350_000
/** Half of them from either end of a part. */
const maxPartChars = 100_000
const maxInstructionsChars = 10_000

/** Truncates a message to fit into a row. `text`: the entry as JSON. */
export function truncateForHistory(entry: Entry, text: string): Entry {
  if (fitsBytes(text, maxMessageBytes)) return entry
  for (let maxChars = maxPartChars; maxChars > 100; maxChars /= 2) {
    const shorter = { ...entry, message: truncateParts(entry.message, maxChars) }
    if (fitsBytes(JSON.stringify(shorter), maxMessageBytes)) return shorter
  }
  const content = [{ type: 'text', text: '[a message that was too large to store]' }]
  return { ...entry, message: { ...entry.message, content } as Message }
}

/** Truncates the instructions of a turn that does not fit into a row with the messages of its page. */
export function truncateTurnForHistory(turn: Turn, entries: readonly Entry[]): Turn {
  const { instructions = '' } = turn.options
  if (instructions.length <= maxInstructionsChars) return turn
  if (utf8Bytes(JSON.stringify(entries)) + utf8Bytes(JSON.stringify(turn)) <= maxPageBytes) return turn
  return { ...turn, options: { ...turn.options, instructions: truncateMiddle(instructions, maxInstructionsChars) } }
}

function truncateParts(message: Message, maxChars: number): Message {
  const content = message.content.map((part) => {
    if (part.type === 'text' || part.type === 'thinking') return { ...part, text: truncateMiddle(part.text, maxChars) }
    if (part.type === 'image') return { type: 'text', text: '[an image that was too large to store]' } as const
    const input = JSON.stringify(part.input)
    if (argumentsOf(part).length <= maxChars) return part
    const { raw: _raw, json: _json, ...call } = part
    return input.length <= maxChars ? call : { ...call, input: { cut: truncateMiddle(input, maxChars) } }
  })
  return { ...message, content } as Message
}

function truncateMiddle(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text
  const half = Math.floor(maxChars / 2)
  const left = `[… ${text.length - 2 * half} characters were too many to store here …]`
  return `${text.slice(0, half)}\n${left}\n${text.slice(-half)}`.toWellFormed()
}
