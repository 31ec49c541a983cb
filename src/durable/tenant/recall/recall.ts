/**
 * Finds messages by their meaning, where `search.embedding_model` is set: vectors of the tenant's history are kept here.
 * Sessions are embedded some time after a turn, in slices. Without the setting there are no rows and no requests.
 */

import { log } from '#agent/core/log.ts'
import { type Authority, systemAuthority } from '#agent/core/permission/authority.ts'
import type { Settings } from '#agent/core/settings.ts'
import { BoundedMap } from '#agent/core/bounded-map.ts'
import { openHistory } from '#db/history.ts'
import type { SimilarText } from '#db/search/similar.ts'
import type { RunInBackground } from '#durable/models/catalog.ts'
import { clock } from '#durable/platform/clock.ts'
import type { ScheduledPart } from '#durable/platform/part-schedule.ts'
import type { TenantBilling } from '../billing/billing.ts'
import type { StoredValues } from '../stored-values.ts'
import { type ChangeCheck, TenantPart } from '../tenant-part.ts'
import type { VectorRows } from './vector-rows.ts'

export type RecallOptions = {
  readonly mayChange: ChangeCheck
  readonly tenantId: string
  readonly env: Env
  readonly sql: SqlStorage
  readonly values: StoredValues
  readonly billing: TenantBilling
  readonly settings: () => Settings
  readonly armAlarm: () => void
  readonly runInBackground: RunInBackground
}

type RecallState = {
  readonly model: string
  /** When sessions are compared with the index next, and the last one that was. Null: not before a session changes. */
  readonly sweepAt: number | null
  readonly after: string
  readonly pausedUntil?: number
}

const stateName = 'recall'
const dayMs = 86_400_000
/** A title often arrives just after a turn and sends its page again. */
const indexDelayMs = 5_000
const slicePauseMs = 1_000
const pauseMs = 3_600_000
const retryMs = 600_000
const indexTimeoutMs = 60_000
/** The caller waits as long. */
export const findTimeoutMs = 2_000
const sessionsPerSweep = 500
const maxSimilar = 100
const maxQueryChars = 1_000
/** A page of results repeats the query of the page before. */
const maxCachedQueries = 50

export class TenantRecall extends TenantPart implements ScheduledPart {
  readonly #options: RecallOptions
  readonly #authority: Authority
  readonly #queries = new BoundedMap<string, readonly number[]>(maxCachedQueries)
  /** Null: nothing is stored. Undefined: not read yet. */
  #state: RecallState | null | undefined
  #sliceAt = 0

  constructor(options: RecallOptions) {
    super(options.mayChange)
    this.#options = options
    this.#authority = systemAuthority(options.tenantId, { kind: 'job', id: 'recall' })
  }

  /** Embeds what a session has new. `undoneFrom`: pages from there on were undone. */
  async changed(authority: Authority, sessionId: string, undoneFrom?: number): Promise<void> {
    this.requireOwn(authority)
    if (this.#current() === undefined) return
    const rows = await this.#rows()
    if (undoneFrom !== undefined) rows.removeFrom(sessionId, undoneFrom)
    rows.queue(sessionId, clock.now() + indexDelayMs)
    const state = this.#current()
    if (state?.sweepAt === null) this.#write({ ...state, sweepAt: clock.now() + dayMs })
    this.#options.armAlarm()
  }

  /** Deletes the vectors of a session that is being deleted. */
  async forget(authority: Authority, sessionId: string): Promise<void> {
    this.requireOwn(authority)
    if (this.#readState()) (await this.#rows()).remove(sessionId)
  }

  /** The texts that mean something similar, best first. A model that fails finds nothing. */
  async find(authority: Authority, text: string, sessionId?: string): Promise<readonly SimilarText[]> {
    this.requireOwn(authority)
    const state = this.#current()
    const query = text.slice(0, maxQueryChars)
    if (state === undefined || !query.trim()) return []
    const key = `${state.model}\n${query}`
    const known = this.#queries.get(key) ?? (await this.#embedQuery(query))
    if (!known || this.#current()?.model !== state.model) return []
    this.#queries.set(key, known)
    return (await this.#rows()).nearest(known, maxSimilar, sessionId)
  }

  async #embedQuery(query: string): Promise<readonly number[] | undefined> {
    try {
      return (await this.#embed([query], findTimeoutMs))[0]
    } catch (error) {
      log.warn('recall.failed', 'A query could not be embedded; its words are searched alone.', { error })
      return undefined
    }
  }

  wakeAt(): number | undefined {
    const state = this.#readState()
    const model = this.#model()
    if (model === undefined) return state ? clock.now() : undefined
    if (state?.model !== model) return clock.now()
    const query = 'SELECT min(due) AS due FROM recall_queue'
    const [row] = this.#options.sql.exec<{ due: number | null }>(query).toArray()
    const due = Math.max(this.#sliceAt, row?.due ?? Infinity)
    const next = Math.min(state.sweepAt ?? Infinity, due)
    return next === Infinity ? undefined : Math.max(state.pausedUntil ?? 0, next)
  }

  async wake(now: number): Promise<void> {
    const rows = await this.#rows()
    const model = this.#model()
    if (this.#readState() && this.#readState()?.model !== model) {
      rows.drop()
      this.#write(null)
    }
    if (model === undefined) return
    if (!this.#readState()) {
      rows.create()
      this.#write({ model, sweepAt: now, after: '' })
    }
    const state = this.#readState()
    if (state && state.sweepAt !== null && state.sweepAt <= now) await this.#sweep(state, rows, now)
    await this.#indexNext(rows, now)
  }

  /** Compares some sessions with the index: all of them when the model was set, and what was missed a day after a change. */
  async #sweep(state: RecallState, rows: VectorRows, now: number): Promise<void> {
    const { env, tenantId } = this.#options
    const { listIndexedSessions } = await import('#db/search/similar.ts')
    const { queueDifferences } = await import('./index-sessions.ts')
    const { historyDb } = await import('#db/shards/sharded-database.ts')
    const sessions = await listIndexedSessions(historyDb(env, tenantId), tenantId, state.after, sessionsPerSweep)
    if (this.#current()?.model !== state.model) return
    queueDifferences(rows, sessions, now)
    const isLast = sessions.length < sessionsPerSweep
    const next = isLast ? { sweepAt: null, after: '' } : { sweepAt: now, after: sessions.at(-1)?.id ?? '' }
    this.#write({ ...state, ...next })
  }

  async #indexNext(rows: VectorRows, now: number): Promise<void> {
    const next = rows.nextDue()
    if (!next || next.due > now) return
    const { env, tenantId } = this.#options
    const { indexSlice } = await import('./index-sessions.ts')
    const { CannotEmbed } = await import('./embed-texts.ts')
    const embed = (texts: readonly string[]) => this.#embed(texts, indexTimeoutMs)
    this.#sliceAt = now + slicePauseMs
    const state = this.#readState()
    try {
      await indexSlice({ rows, history: openHistory(env, tenantId), embed }, next)
    } catch (error) {
      const isCurrent = state && this.#current()?.model === state.model
      if (error instanceof CannotEmbed && isCurrent) {
        log.warn('recall.paused', 'Sessions are not embedded for an hour.', { error })
        return this.#write({ ...state, ...this.#readState(), pausedUntil: now + pauseMs })
      }
      // The others go first: the text of this one may be the reason.
      if (isCurrent && rows.isQueued(next.session)) rows.queue(next.session, now + retryMs)
      throw error
    }
  }

  async #embed(texts: readonly string[], timeoutMs: number): Promise<readonly (readonly number[])[]> {
    const { embedTexts } = await import('./embed-texts.ts')
    const { env, tenantId, billing, runInBackground } = this.#options
    const model = this.#model() ?? ''
    return embedTexts({ env, tenantId, authority: this.#authority, model, billing, runInBackground }, texts, timeoutMs)
  }

  async #rows(): Promise<VectorRows> {
    const { VectorRows } = await import('./vector-rows.ts')
    return new VectorRows(this.#options.sql)
  }

  #model(): string | undefined {
    return this.#options.settings().search?.embedding_model ?? undefined
  }

  /** The state of the model that is set. */
  #current(): RecallState | undefined {
    const state = this.#readState()
    return state?.model === this.#model() ? state : undefined
  }

  /** A restored tenant has the value without the tables: it begins anew. */
  #readState(): RecallState | undefined {
    const { sql, values } = this.#options
    if (this.#state === undefined) {
      const query = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'recall_queue'"
      const stored = values.get<RecallState | null>(stateName)
      this.#state = stored && sql.exec(query).toArray().length ? stored : null
    }
    return this.#state ?? undefined
  }

  #write(state: RecallState | null): void {
    this.#options.values.set(stateName, state)
    this.#state = state
  }
}
