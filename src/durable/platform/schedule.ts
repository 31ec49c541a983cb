/**
 * Decides when a Durable Object wakes next. An object has one alarm and many reasons to wake: a `Schedule` holds the
 * time of each reason and the time the alarm is set to, and `armAlarm` is the only effect. Times are milliseconds
 * since 1970.
 */

/** The time after which the alarm resumes a turn that no driver runs. */
export const leaseMs = 15_000
/** The maximum duration of one alarm invocation before the next one continues: the platform ends it after 15 minutes. */
export const segmentMs = 600_000

/** The time the alarm is set to. `unknown`: this instance of the object has not set it yet. */
export type Armed = number | 'none' | 'unknown'

export type WakeSchedule<Reason extends string = string> = {
  /** When to wake, by reason. A reason without a time needs no alarm. */
  readonly wakes: Readonly<Partial<Record<Reason, number | undefined>>>
  readonly armed: Armed
}

export type Wake<Reason extends string> = { readonly reason: Reason; readonly at: number }

/** The earliest wake; undefined when no reason has a time. Of equal times the first reason wins. */
export function nextWake<Reason extends string>({ wakes }: WakeSchedule<Reason>): Wake<Reason> | undefined {
  let next: Wake<Reason> | undefined
  for (const [reason, at] of Object.entries(wakes) as [Reason, number | undefined][])
    if (at !== undefined && (next === undefined || at < next.at)) next = { reason, at }
  return next
}

/** The reasons whose time has come, earliest first. */
export function dueReasons<Reason extends string>({ wakes }: WakeSchedule<Reason>, now: number): readonly Reason[] {
  const times = Object.entries(wakes) as [Reason, number | undefined][]
  const due = times.flatMap(([reason, at]) => (at !== undefined && at <= now ? [{ reason, at }] : []))
  return due.toSorted((one, other) => one.at - other.at).map(({ reason }) => reason)
}

type AlarmStorage = Pick<DurableObjectStorage, 'setAlarm' | 'deleteAlarm'>

/**
 * Sets the alarm to the next wake, or deletes it when there is none. Storage orders it with the other writes of the
 * same synchronous stretch. An alarm that is set already costs nothing.
 */
export function armAlarm<Reason extends string>(storage: AlarmStorage, schedule: WakeSchedule<Reason>): Armed {
  const armed = nextWake(schedule)?.at ?? 'none'
  if (armed === schedule.armed) return armed
  if (armed === 'none') void storage.deleteAlarm()
  else void storage.setAlarm(armed)
  return armed
}

/** The pause before the next try after so many failures: 2 s, 4 s, 8 s … at most 5 minutes. */
export const retryDelayMs = (failures: number): number => Math.min(1_000 * 2 ** failures, 300_000)
