/**
 * Sends to history (D1) what it does not have yet. History itself knows how far it is: after a restart
 * it is asked once, so that nothing here has to be kept in step. Everything is keyed; repeating it
 * changes nothing.
 */

import type { Entry, HistoryStore, Known, Page, SessionRecord, SpentTurn } from '../../agent/model/history.ts'
import { isOver, type Turn } from '../../agent/model/turn.ts'
import type { Usage } from '../../agent/model/usage.ts'
import { truncateForHistory, truncateTurnForHistory } from './truncate-for-history.ts'
import { importRun, type Journal, type StepRow } from './journal.ts'

/** Characters of messages in one page. */
const pageLength = 128 * 1024

export type ProjectionOptions = {
  readonly journal: Journal
  readonly history: () => HistoryStore
  readonly record: () => SessionRecord
  /** What a turn has cost, with what came after its end. */
  readonly usageOf: UsageOf
  /** What waits for a person, for the tenant's list. */
  readonly announceWaiting: () => Promise<void>
  /** Messages from `from` on were taken back while history still has them. */
  readonly retracted: { readonly from: () => number | undefined; readonly done: (from: number) => void }
}

export class Projection {
  readonly #options: ProjectionOptions
  #through: number | undefined
  #known: Known | undefined
  /** Where the sending began that brought the end of the newest turn. */
  #ended: { readonly runId: string; readonly after: number } | undefined
  /** From here on once more. */
  #repeatAfter: number | undefined
  #running: Promise<void> | undefined
  #again = false

  constructor(options: ProjectionOptions) {
    this.#options = options
  }

  /** The session was rebuilt from history, or is new: it is known how far history is. */
  startsAt(through: number, known?: Known): void {
    this.#through = through
    this.#known = known
  }

  /**
   * What the end of this turn says has changed. It goes with what went with it, so that the pages are the same: a page
   * that began earlier would hold messages that stand in another one too.
   */
  repeat(runId: string): void {
    if (this.#ended?.runId === runId) this.#repeatAfter = this.#ended.after
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

  /** What ended turns have spent of which history knows nothing, for a session that is deleted. */
  unsent(): SpentTurn[] {
    const { journal, record, usageOf } = this.#options
    const { source } = record()
    const turns = [...journal.unsent(this.#through ?? 0)].flatMap(({ turn }) => (turn && isOver(turn) ? [turn] : []))
    return turns.slice(-unsentKept).map((turn) => spentTurn({ ...turn, usage: usageOf(turn) }, source))
  }

  async #loop(): Promise<void> {
    do {
      this.#again = false
      await this.#send()
    } while (this.#again)
  }

  async #send(): Promise<void> {
    const { journal, history, record, announceWaiting, retracted, usageOf } = this.#options
    const store = history()
    const session = record()
    let known = this.#known
    // Whether a failed batch was written is not known.
    this.#known = undefined
    // People can answer while history is away.
    const announced = announceWaiting()
    announced.catch(() => undefined)
    this.#through ??= (await store.standing(session.id))?.through ?? 0
    const from = retracted.from()
    if (from !== undefined) {
      const gone = journal.goneTurns(from)
      await store.truncate(
        session.id,
        from,
        gone.map((turn) => spentTurn(turn, session.source)),
      )
      this.#through = Math.min(this.#through, from - 1)
      known = undefined
      retracted.done(from)
    }
    this.#through = Math.min(this.#through, this.#repeatAfter ?? Infinity)
    this.#repeatAfter = undefined
    const { pages, through } = pagesAfter(journal, this.#through, usageOf)
    const end = pages.findLast(({ turn }) => turn !== undefined)
    // A summary that is made later belongs to the turn too.
    if (end && end.runId !== this.#ended?.runId) this.#ended = { runId: end.runId, after: this.#through }
    await store.append(session, pages, known)
    this.#known = session
    await announced
    this.#through = Math.max(this.#through, through)
  }
}

type UsageOf = (turn: Turn) => Usage

/** What history lacks after seq `after`, as pages, and the seq that it reaches with them. */
function pagesAfter(
  journal: Journal,
  after: number,
  usageOf: UsageOf,
): { readonly pages: Page[]; readonly through: number } {
  const rows = [...journal.unsent(after)]
  // Only the newest row can still grow: it is complete once the model has spoken in it.
  const last = rows.at(-1)
  if (last && !isFinal(last.row)) rows.pop()
  const pages = new Pages(usageOf)
  for (const { row, turn } of rows) {
    for (const [i, entry] of row.entries.entries())
      if (entry.seq > after) pages.add(row.runId, entry, row.texts[i] ?? '')
    if (turn && isOver(turn)) pages.close(turn)
  }
  pages.close()
  return { pages: pages.closed, through: rows.at(-1)?.row.entries.at(-1)?.seq ?? after }
}

type Open = { readonly runId: string; readonly entries: Entry[]; length: number }

/** Entries into pages: consecutive ones of a turn together, until a page is large enough. */
class Pages {
  readonly closed: Page[] = []
  readonly #usageOf: UsageOf
  #open: Open | undefined

  constructor(usageOf: UsageOf) {
    this.#usageOf = usageOf
  }

  /** `text`: the entry as JSON. */
  add(runId: string, entry: Entry, text: string): void {
    const { length } = text
    if (this.#open && (this.#open.runId !== runId || this.#open.length + length > pageLength)) this.close()
    this.#open ??= { runId, entries: [], length: 0 }
    this.#open.entries.push(truncateForHistory(entry, text))
    this.#open.length += length
  }

  close(turn?: Turn): void {
    if (this.#open) this.closed.push(pageOf(this.#open, turn, this.#usageOf))
    this.#open = undefined
  }
}

/** More of them only wait when D1 has been away for long. */
const unsentKept = 50

const spentTurn = (turn: Turn, source: string): SpentTurn => ({
  runId: turn.id,
  at: turn.stage.at === 'done' ? turn.stage.endedAt : turn.startedAt,
  source,
  model: turn.options.model,
  usage: turn.usage,
})

/** Or it holds what a client brought along. */
const isFinal = (row: StepRow) => row.entries.at(-1)?.message.role === 'assistant' || row.runId === importRun

function pageOf({ runId, entries }: Open, turn: Turn | undefined, usageOf: UsageOf): Page {
  return {
    n: entries[0]?.seq ?? 0,
    runId,
    at: entries.at(-1)?.at ?? 0,
    entries,
    ...(turn && { turn: truncateTurnForHistory(turn, entries), usage: usageOf(turn) }),
    ...(turn?.options.model && { model: turn.options.model }),
    ...(runId === importRun && { indexed: false }),
  }
}
