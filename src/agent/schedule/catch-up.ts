/**
 * Decides what happens to the slots of a job that came due while nothing could run: the last one runs late, once, and the
 * others are recorded. A slot is the time at which a job was due.
 */

import { minuteMs } from './civil-time.ts'
import { nextRun } from './next-run.ts'
import type { Schedule } from './schedule.ts'

const minGraceMs = 2 * minuteMs
const maxGraceMs = 120 * minuteMs
/** Slots that get a record of their own. Older ones share the record of the first. */
const maxMissedRecords = 10
/** Slots that are counted one by one. */
const maxCounted = 1_000

/** Half the period of the schedule, from 2 minutes to 2 hours. A later start counts as late. */
export function graceMs(schedule: Schedule, slot: number): number {
  return Math.min(Math.max(periodMs(schedule, slot) / 2, minGraceMs), maxGraceMs)
}

/** After this time a slot does not run any more. A short period ends with its next slot, so that its last one always runs. */
function maxLateMs(schedule: Schedule, slot: number): number {
  return Math.min(Math.max(periodMs(schedule, slot), minGraceMs), maxGraceMs)
}

const periodMs = (schedule: Schedule, slot: number): number => (nextRun(schedule, slot) ?? Infinity) - slot

/** A slot without a run. `slots`: how many it stands for, `until` the last of them. */
export type MissedSlot = { readonly slot: number; readonly slots: number; readonly until: number }

export type CatchUp = {
  /** The slot that runs now. */
  readonly run?: { readonly slot: number; readonly isLate: boolean }
  /** The last slot, which is too old to run. */
  readonly skipped?: number
  /** Earlier slots, which the last one stands for. */
  readonly missed: readonly MissedSlot[]
  /** The first slot after now. */
  readonly next: number | undefined
}

/** `due`: the slot that the job waits for. It is not after `now`. */
export function catchUp(schedule: Schedule, due: number, now: number): CatchUp {
  const { slots, total, last } = listDueSlots(schedule, due, now)
  const next = nextRun(schedule, now)
  const missed = groupMissed(
    slots.filter((slot) => slot !== last),
    total - 1,
  )
  const lateMs = now - last
  if (lateMs > maxLateMs(schedule, last)) return { skipped: last, missed, next }
  return { run: { slot: last, isLate: lateMs > graceMs(schedule, last) }, missed, next }
}

/** Lists the slots up to now. Of very many it has the first ones and the last. */
function listDueSlots(schedule: Schedule, due: number, now: number) {
  const slots = [due]
  let at = nextRun(schedule, due)
  for (; at !== undefined && at <= now && slots.length < maxCounted; at = nextRun(schedule, at)) slots.push(at)
  let last = slots.at(-1) ?? due
  let total = slots.length
  if (at === undefined || at > now) return { slots, total, last }
  // Only slots of the last two hours can run, so that those between need no search.
  for (
    at = nextRun(schedule, Math.max(last, now - maxGraceMs - 1));
    at !== undefined && at <= now;
    at = nextRun(schedule, at)
  ) {
    last = at
    total += 1
  }
  return { slots, total, last }
}

/** The oldest slots share one record. */
function groupMissed(slots: readonly number[], total: number): readonly MissedSlot[] {
  const [first] = slots
  if (first === undefined) return []
  if (total <= maxMissedRecords) return slots.map((slot) => ({ slot, slots: 1, until: slot }))
  const own = slots.slice(-(maxMissedRecords - 1))
  const until = slots[slots.length - own.length - 1] ?? first
  return [{ slot: first, slots: total - own.length, until }, ...own.map((slot) => ({ slot, slots: 1, until: slot }))]
}
