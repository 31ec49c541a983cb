/** Stores the results of ended runs that are still to be delivered, one row for each target. */

import type { Marks } from '#agent/core/marks.ts'
import type { Target } from '#agent/schedule/job/targets.ts'
import type { ChatOrigin } from '#agent/core/delivery.ts'
import type { Authority } from '#agent/core/permission/authority.ts'
import type { JobRun } from './run-rows.ts'

/** The target of a delivery: `origin` is resolved when the run ends. */
export type Destination =
  | Extract<Target, { readonly kind: 'session' | 'chat' | 'home' | 'webhook' }>
  | { readonly kind: 'origin-chat'; readonly sessionId: string; readonly chat: ChatOrigin }

/** Whether a delivery reaches others: not that to a session, and not to the only chat that its author reaches. */
export function reachesOthers(target: Target | Destination, { channel }: Authority): boolean {
  if (target.kind === 'webhook' || target.kind === 'home') return true
  return (
    target.kind === 'chat' && !(channel && target.connection === channel.connection && target.chat === channel.chat)
  )
}

export type JobDelivery = {
  /** The same for every attempt. */
  readonly key: string
  readonly run: Pick<JobRun, 'id' | 'jobId' | 'slot' | 'status' | 'error' | 'sessionId'>
  readonly jobName: string
  readonly to: Destination
  /** For errors. */
  readonly target: string
  readonly text: string
  /** Absent in deliveries that are older than marks. */
  readonly marks?: Marks
  readonly authority: Authority
  readonly createdAt: number
  /** Attempts that have begun. */
  readonly attempts: number
  /** The chat has accepted the message and sends it. */
  readonly isHandedOver?: true
}

const schema = [
  'CREATE TABLE IF NOT EXISTS job_delivery (key TEXT PRIMARY KEY, at INTEGER NOT NULL, body TEXT NOT NULL) WITHOUT ROWID',
  'CREATE INDEX IF NOT EXISTS job_delivery_due ON job_delivery(at)',
]

type DeliveryBody = { body: string }
const deliveryOf = ({ body }: DeliveryBody): JobDelivery => JSON.parse(body) as JobDelivery

export class DeliveryRows {
  readonly #sql: SqlStorage

  constructor(sql: SqlStorage) {
    this.#sql = sql
    for (const statement of schema) sql.exec(statement)
  }

  /** Adds or replaces the delivery. */
  put(delivery: JobDelivery, at: number): void {
    this.#sql.exec(
      'INSERT INTO job_delivery VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET at = excluded.at, body = excluded.body',
      delivery.key,
      at,
      JSON.stringify(delivery),
    )
  }

  has(key: string): boolean {
    return this.#sql.exec('SELECT 1 FROM job_delivery WHERE key = ?', key).toArray().length > 0
  }

  remove(key: string): void {
    this.#sql.exec('DELETE FROM job_delivery WHERE key = ?', key)
  }

  listDue(now: number, limit: number): readonly JobDelivery[] {
    return this.#sql
      .exec<DeliveryBody>('SELECT body FROM job_delivery WHERE at <= ? ORDER BY at LIMIT ?', now, limit)
      .toArray()
      .map(deliveryOf)
  }

  firstAt(): number | undefined {
    return this.#sql.exec<{ at: number }>('SELECT at FROM job_delivery ORDER BY at LIMIT 1').toArray()[0]?.at
  }
}
