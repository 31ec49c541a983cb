/** Defines when a job comes due, and how that is stored. */

import { type CronFields, parseCron } from './cron-fields.ts'

/** Times are milliseconds since 1970. */
export type Schedule =
  | { readonly kind: 'once'; readonly at: number }
  /** Due each `everyMs` after `from`. */
  | { readonly kind: 'interval'; readonly from: number; readonly everyMs: number }
  | { readonly kind: 'cron'; readonly expression: string; readonly zone: string; readonly fields: CronFields }

/** The stored form of a schedule: plain JSON without the parsed fields. */
export type StoredSchedule =
  | Exclude<Schedule, { readonly kind: 'cron' }>
  | { readonly kind: 'cron'; readonly expression: string; readonly zone: string }

export function storeSchedule(schedule: Schedule): StoredSchedule {
  if (schedule.kind !== 'cron') return schedule
  const { kind, expression, zone } = schedule
  return { kind, expression, zone }
}

/** Parses a stored schedule again. It was valid when it was stored. */
export function restoreSchedule(stored: StoredSchedule): Schedule {
  if (stored.kind !== 'cron') return stored
  const cron = parseCron(stored.expression.replace(/^(?:CRON_TZ|TZ)=\S{1,64} /i, ''))
  if (!cron.ok) throw new Error(`A stored schedule cannot be read: ${cron.error}`)
  return { ...stored, fields: cron.fields }
}
