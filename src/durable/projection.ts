/**
 * Sends to history (D1) what it does not have yet. History itself knows how far it is: after a restart
 * it is asked once, so that nothing here has to be kept in step. Everything is keyed; repeating it
 * changes nothing.
 */

import type { HistoryStore, Page, SessionRecord } from '../agent/model/history.ts'
import { isOver, type Turn } from '../agent/model/turn.ts'
import type { Journal, StepRow } from './journal.ts'

/** Bytes of messages in one page. */
const pageBytes = 128 * 1024

export type ProjectionOptions = {
  readonly journal: Journal
  readonly history: () => HistoryStore
  readonly record: () => SessionRecord
  /** What waits for a person, for the tenant's list. */
  readonly announceWaiting: () => Promise<void>
}

export class Projection {
  readonly #options: ProjectionOptions
  #through: number | undefined
  #running: Promise<void> | undefined
  #again = false
  #retractedFrom: number | undefined

  constructor(options: ProjectionOptions) {
    this.#options = options
  }

  /** The session was rebuilt from history, or is new: it is known how far history is. */
  startsAt(through: number): void {
    this.#through = through
  }

  /** Messages from here on were taken back; history still has them. */
  retract(from: number): void {
    this.#retractedFrom = Math.min(from, this.#retractedFrom ?? from)
  }

  /** Rejects when history cannot be reached; what was to be sent is still there. One at a time. */
  run(): Promise<void> {
    if (this.#running) this.#again = true
    return (this.#running ??= this.#loop().finally(() => (this.#running = undefined)))
  }

  /** Resolves when nothing is being sent, however that ended. */
  settled(): Promise<void> {
    return (this.#running ?? Promise.resolve()).catch(() => undefined)
  }

  async #loop(): Promise<void> {
    do {
      this.#again = false
      await this.#send()
    } while (this.#again)
  }

  async #send(): Promise<void> {
    const { journal, history, record, announceWaiting } = this.#options
    const store = history()
    const session = record()
    // People can answer while history is away.
    const announced = announceWaiting()
    announced.catch(() => undefined)
    this.#through ??= (await store.standing(session.id))?.through ?? 0
    if (this.#retractedFrom !== undefined) {
      await store.truncate(session.id, this.#retractedFrom)
      this.#through = Math.min(this.#through, this.#retractedFrom - 1)
      this.#retractedFrom = undefined
    }
    const { pages, through } = pagesAfter(journal, this.#through)
    await store.append(session, pages)
    await announced
    this.#through = Math.max(this.#through, through)
  }
}

/** Rows into pages: consecutive ones of a turn together, until a page is large enough. */
export function pagesAfter(journal: Journal, after: number): { readonly pages: Page[]; readonly through: number } {
  const pages: Page[] = []
  let open: { rows: StepRow[]; bytes: number } | undefined
  let through = after
  const close = (turn?: Turn) => {
    if (open) pages.push(pageOf(open.rows, turn))
    open = undefined
  }
  for (const { row, turn } of journal.unsent(after)) {
    if (!isFinal(row)) break
    const bytes = row.texts.reduce((sum, text) => sum + text.length, 0)
    if (open && (open.rows[0]?.runId !== row.runId || open.bytes + bytes > pageBytes)) close()
    open ??= { rows: [], bytes: 0 }
    open.rows.push(row)
    open.bytes += bytes
    through = row.entries.at(-1)?.seq ?? through
    if (turn && isOver(turn)) close(turn)
  }
  close()
  return { pages, through }
}

/** A row is complete once the model has spoken in it, or when it holds what a client brought along. */
const isFinal = (row: StepRow) => row.entries.at(-1)?.message.role === 'assistant' || row.runId === importRun

/** The run id of messages that were there before the session's first turn. */
export const importRun = 'import'

function pageOf(rows: readonly StepRow[], turn: Turn | undefined): Page {
  const entries = rows.flatMap((row) => row.entries)
  const [first] = rows as readonly [StepRow]
  return {
    n: first.n,
    runId: first.runId,
    at: entries.at(-1)?.at ?? 0,
    entries,
    ...(turn && { turn, usage: turn.usage }),
    ...(turn?.options.model && { model: turn.options.model }),
    ...(first.runId === importRun && { indexed: false }),
  }
}
