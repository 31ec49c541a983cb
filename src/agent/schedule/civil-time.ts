/** Converts between moments and the wall clock of a zone. All times are milliseconds since 1970; a wall time counts as if it were UTC. */

import { BoundedMap } from '#agent/core/bounded-map.ts'

export const minuteMs = 60_000
const hourMs = 60 * minuteMs
export const dayMs = 24 * hourMs
/** Zones are between 12 hours behind and 14 hours ahead of UTC. */
const maxBehindMs = 12 * hourMs
const maxAheadMs = 14 * hourMs

const maxFormats = 200
const formats = new BoundedMap<string, Intl.DateTimeFormat>(maxFormats)

function getFormat(zone: string): Intl.DateTimeFormat {
  let format = formats.get(zone)
  if (!format)
    formats.set(
      zone,
      (format = new Intl.DateTimeFormat('en-US', {
        timeZone: zone,
        hourCycle: 'h23',
        era: 'short',
        year: 'numeric',
        month: 'numeric',
        day: 'numeric',
        hour: 'numeric',
        minute: 'numeric',
        second: 'numeric',
      })),
    )
  return format
}

/** Days since 1970 of a date of the Gregorian calendar. `month` begins with 1. */
export function countDays(year: number, month: number, day: number): number {
  const shifted = month > 2 ? year : year - 1
  const era = Math.floor(shifted / 400)
  const yearOfEra = shifted - era * 400
  const dayOfYear = Math.floor((153 * (month + (month > 2 ? -3 : 9)) + 2) / 5) + day - 1
  return era * 146_097 + yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear - 719_468
}

export type CivilDate = { readonly year: number; readonly month: number; readonly day: number }

export function dateOfDays(days: number): CivilDate {
  const shifted = days + 719_468
  const era = Math.floor(shifted / 146_097)
  const dayOfEra = shifted - era * 146_097
  const yearOfEra = Math.floor(
    (dayOfEra - Math.floor(dayOfEra / 1_460) + Math.floor(dayOfEra / 36_524) - Math.floor(dayOfEra / 146_096)) / 365,
  )
  const dayOfYear = dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100))
  const shiftedMonth = Math.floor((5 * dayOfYear + 2) / 153)
  const month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
  const day = dayOfYear - Math.floor((153 * shiftedMonth + 2) / 5) + 1
  return { year: yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day }
}

export const daysInMonth = (year: number, month: number): number =>
  month === 12 ? 31 : countDays(year, month + 1, 1) - countDays(year, month, 1)

/** The wall time of the zone at a moment. */
export function wallTimeAt(zone: string, moment: number): number {
  if (zone === 'UTC') return moment
  const whole = Math.floor(moment / 1_000) * 1_000
  const parts: Record<string, string> = {}
  for (const { type, value } of getFormat(zone).formatToParts(whole)) parts[type] = value
  const year = parts['era'] === 'BC' ? 1 - Number(parts['year']) : Number(parts['year'])
  const days = countDays(year, Number(parts['month']), Number(parts['day']))
  const seconds = (Number(parts['hour']) * 60 + Number(parts['minute'])) * 60 + Number(parts['second'])
  return days * dayMs + seconds * 1_000 + (moment - whole)
}

/** The wall time of the zone minus UTC. */
export const offsetAt = (zone: string, moment: number): number => wallTimeAt(zone, moment) - moment

/**
 * Returns the moment of a wall time. A wall time that comes twice means its first moment; one that the clock jumps over
 * means the first moment after the jump.
 */
export function getMoment(zone: string, wall: number): number {
  if (zone === 'UTC') return wall
  const [from, to] = [wall - maxAheadMs, wall + maxBehindMs]
  const [before, after] = [offsetAt(zone, from), offsetAt(zone, to)]
  if (before === after) return wall - before
  const moments = [wall - before, wall - after].filter((moment) => wallTimeAt(zone, moment) === wall)
  return moments.length ? Math.min(...moments) : findChange(zone, from, to)
}

/** Finds the first moment with another offset than `from`, to the millisecond. */
export function findChange(zone: string, from: number, to: number): number {
  const offset = offsetAt(zone, from)
  let [low, high] = [from, to]
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2)
    if (offsetAt(zone, middle) === offset) low = middle
    else high = middle
  }
  return high
}

/** Returns the canonical name of an IANA zone; undefined for an unknown one. */
export function resolveZone(name: string): string | undefined {
  try {
    return name.toUpperCase() === 'UTC'
      ? 'UTC'
      : new Intl.DateTimeFormat('en-US', { timeZone: name }).resolvedOptions().timeZone
  } catch (error) {
    if (error instanceof RangeError) return undefined
    throw error
  }
}
