/** Decides when a chat begins a new conversation by itself: after a pause, or at an hour of the day. */

import { getMoment, wallTimeAt } from './civil-time.ts'

export type ResetPolicy = {
  readonly mode?: 'none' | 'idle' | 'daily' | 'both' | undefined
  readonly idle_minutes?: number | undefined
  /** The hour of the tenant's day. */
  readonly at_hour?: number | undefined
}

export type ResetFacts = {
  readonly lastActivityAt: number
  readonly now: number
  readonly zone: string
  /** Background processes run. */
  readonly isBusy: boolean
}

const minuteMs = 60_000
const hourMs = 60 * minuteMs
const dayMs = 24 * hourMs
const defaults = { idleMinutes: 1_440, atHour: 4 } as const
/** Background processes keep a conversation at most so long. */
const maxBusyMs = dayMs

export function isResetDue({ mode = 'none', idle_minutes, at_hour }: ResetPolicy, facts: ResetFacts): boolean {
  const { lastActivityAt, now, zone, isBusy } = facts
  const idleMs = now - lastActivityAt
  if (mode === 'none' || (isBusy && idleMs < maxBusyMs)) return false
  const isIdle = mode !== 'daily' && idleMs >= (idle_minutes ?? defaults.idleMinutes) * minuteMs
  return isIdle || (mode !== 'idle' && lastActivityAt < lastHour(zone, at_hour ?? defaults.atHour, now))
}

/** The last time that the clock of the zone showed this full hour. */
function lastHour(zone: string, hour: number, now: number): number {
  const wall = wallTimeAt(zone, now)
  const today = Math.floor(wall / dayMs) * dayMs + hour * hourMs
  const moment = getMoment(zone, today)
  return moment <= now ? moment : getMoment(zone, today - dayMs)
}
