/**
 * Finds when a schedule comes due next. A cron time that the clock jumps over runs at the first moment after the jump, and one
 * that comes twice at its first.
 */

import { dateOfDays, dayMs, daysInMonth, countDays, minuteMs, getMoment, wallTimeAt } from './civil-time.ts'
import type { CronFields } from './cron-fields.ts'
import type { Schedule } from './schedule.ts'

/** 29 February is at most eight years away. */
const maxYears = 9

/** The first time after `after`; undefined when the schedule never comes due again. */
export function nextRun(schedule: Schedule, after: number): number | undefined {
  switch (schedule.kind) {
    case 'once':
      return schedule.at > after ? schedule.at : undefined
    case 'interval': {
      const { from, everyMs } = schedule
      return from + (Math.max(0, Math.floor((after - from) / everyMs)) + 1) * everyMs
    }
    case 'cron':
      return nextCronRun(schedule.fields, schedule.zone, after)
  }
}

function nextCronRun(fields: CronFields, zone: string, after: number): number | undefined {
  let wall: number | undefined = wallTimeAt(zone, after)
  // The first time of a wall time may lie before `after`, in the hour that comes twice.
  for (;;) {
    wall = nextWallTime(fields, wall)
    if (wall === undefined) return undefined
    const moment = getMoment(zone, wall)
    if (moment > after) return moment
  }
}

/** The first wall time after `wall` that the fields match. */
function nextWallTime(fields: CronFields, wall: number): number | undefined {
  const firstDay = Math.floor(wall / dayMs)
  const lastYear = dateOfDays(firstDay).year + maxYears
  for (let day = firstDay; ;) {
    const { year, month, day: dayOfMonth } = dateOfDays(day)
    if (year > lastYear) return undefined
    if (!fields.months.has(month)) {
      day += daysInMonth(year, month) - dayOfMonth + 1
      continue
    }
    if (matchesDay(fields, day, dayOfMonth)) {
      const found = nextTimeOfDay(fields, day * dayMs, wall)
      if (found !== undefined) return found
    }
    day += 1
  }
}

function matchesDay({ days, weekdays, isEitherDay }: CronFields, day: number, dayOfMonth: number): boolean {
  // 1 January 1970 was a Thursday.
  const weekday = (((day + 4) % 7) + 7) % 7
  return isEitherDay ? days.has(dayOfMonth) || weekdays.has(weekday) : days.has(dayOfMonth) && weekdays.has(weekday)
}

function nextTimeOfDay({ hours, minutes, second }: CronFields, midnight: number, wall: number): number | undefined {
  const startHour = Math.max(0, Math.floor((wall - midnight) / (60 * minuteMs)))
  for (const hour of hours) {
    if (hour < startHour) continue
    for (const minute of minutes) {
      const time = midnight + (hour * 60 + minute) * minuteMs + second * 1_000
      if (time > wall) return time
    }
  }
  return undefined
}

/** Whether the fields match any day at all: 30 February never comes. */
export const canComeDue = (fields: CronFields): boolean =>
  nextWallTime(fields, countDays(2_000, 1, 1) * dayMs) !== undefined
