/** Renders the days of a time zone as SQL: SQLite knows no zones, so the offsets of the zone in the span are listed. */

import { dayMs, findChange, offsetAt } from '#agent/schedule/civil-time.ts'

/** The steps in which changes are looked for. No zone changes twice within it. */
const stepMs = 7 * dayMs
/** Earlier days of a longer span count with the first offset. */
const maxSteps = 600

/** The wall time of the column `at`, in milliseconds. */
export function wallTimeSql(zone: string, from: number, to: number): string {
  if (zone === 'UTC') return 'at'
  const start = Math.max(from, to - maxSteps * stepMs)
  const cases: string[] = []
  let offset = offsetAt(zone, start)
  for (let at = start; at < to; at += stepMs) {
    const next = Math.min(at + stepMs, to)
    const following = offsetAt(zone, next)
    if (following === offset) continue
    cases.push(`WHEN at < ${findChange(zone, at, next)} THEN ${offset}`)
    offset = following
  }
  return cases.length ? `(at + CASE ${cases.join(' ')} ELSE ${offset} END)` : `(at + ${offset})`
}
