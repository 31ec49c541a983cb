/**
 * Stores the subagents of a session. A row is written before the subagent's session is reached, so that a restarted
 * object finds every subagent again.
 */

import type { Authority } from '#agent/core/permission/authority.ts'
import type { SubagentReport, SubagentTask } from '#agent/core/subagent.ts'
import type { SubagentGrant } from '#agent/policy/subagent/money.ts'
import type { Watched } from '#agent/policy/subagent/stall.ts'

/** Times are milliseconds since 1970. */
export type ChildState =
  /** `retryAt`: a limit of the tenant refused it, which is `limit`. */
  | { readonly at: 'queued'; readonly retryAt?: number; readonly limit?: string }
  /** `isStarted`: its session has accepted the goal. `seenAt`: the last attempt to reach it. */
  | {
      readonly at: 'running'
      readonly since: number
      readonly isStarted: boolean
      readonly seenAt: number
      readonly watched: Watched
      readonly grant: SubagentGrant
    }
  | { readonly at: 'ended'; readonly endedAt: number; readonly report: SubagentReport }

/** The present work of a subagent; null when nothing is known of it. */
export function activityOf(state: ChildState): string | null {
  if (state.at === 'running') return state.watched.progress.activity
  return state.at === 'queued' && state.limit !== undefined ? `waits for the limit ${state.limit}` : null
}

export type ChildRow = {
  /** The id of the subagent's session. */
  readonly id: string
  readonly runId: string
  readonly delegation: string
  /** The position among the tasks of the delegation. */
  readonly index: number
  /** The run that has delegated. */
  readonly parentRun: string
  /** The call that waits for the results. Absent: they are delivered as a message. */
  readonly callId?: string
  readonly note?: string
  readonly task: SubagentTask
  /** That of the turn that has delegated. */
  readonly authority: Authority
  readonly tools: readonly string[]
  readonly createdAt: number
  readonly state: ChildState
  /** Why it is being stopped. */
  readonly stop?: string
  /** It goes on with the history of an earlier run. */
  readonly isResumed?: true
  /** The session that a question was sent to. Absent: of a subagent, whose session has `id`. */
  readonly target?: string
  /** Its files are in the workspace of the parent. */
  readonly isMerged?: true
  /** The results of the delegation have reached the conversation. */
  readonly isDelivered?: true
}

/** A question to another session is no subagent: it has no share of the money, no place and no files. */
export const isSubagent = ({ target }: ChildRow): boolean => target === undefined

export type RunningRow = ChildRow & { readonly state: Extract<ChildState, { at: 'running' }> }
export const isRunning = (row: ChildRow): row is RunningRow => row.state.at === 'running'

const schema = `CREATE TABLE IF NOT EXISTS child (n INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, delegation TEXT NOT NULL,
  body TEXT NOT NULL)`

export class ChildRows {
  readonly #sql: SqlStorage
  #hasTable: boolean
  /** Loaded with the first use, in the order in which they were created. */
  #rows: Map<string, ChildRow> | undefined

  /** `exists`: the table was there when the object started. */
  constructor(sql: SqlStorage, exists: boolean) {
    this.#sql = sql
    this.#hasTable = exists
  }

  all(): readonly ChildRow[] {
    return [...this.#loaded().values()]
  }

  get(id: string): ChildRow | undefined {
    return this.#loaded().get(id)
  }

  ofDelegation(delegation: string): readonly ChildRow[] {
    return this.all().filter((row) => row.delegation === delegation)
  }

  add(rows: readonly ChildRow[]): void {
    if (!this.#hasTable) this.#sql.exec(schema)
    this.#hasTable = true
    for (const row of rows) {
      this.#sql.exec(
        'INSERT INTO child (id, delegation, body) VALUES (?, ?, ?)',
        row.id,
        row.delegation,
        JSON.stringify(row),
      )
      this.#loaded().set(row.id, row)
    }
  }

  /** Replaces a row. One that was deleted meanwhile stays deleted. */
  put(row: ChildRow): void {
    if (!this.#loaded().has(row.id)) return
    this.#sql.exec(
      'UPDATE child SET delegation = ?, body = ? WHERE id = ?',
      row.delegation,
      JSON.stringify(row),
      row.id,
    )
    this.#loaded().set(row.id, row)
  }

  delete(id: string): void {
    if (this.#loaded().delete(id)) this.#sql.exec('DELETE FROM child WHERE id = ?', id)
  }

  #loaded(): Map<string, ChildRow> {
    return (this.#rows ??= this.#read())
  }

  #read(): Map<string, ChildRow> {
    if (!this.#hasTable) return new Map()
    const rows = this.#sql.exec<{ body: string }>('SELECT body FROM child ORDER BY n').toArray()
    return new Map(
      rows.map(({ body }) => {
        const row = JSON.parse(body) as ChildRow
        return [row.id, row]
      }),
    )
  }
}
