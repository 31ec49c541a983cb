/**
 * Parses the text of a schedule: `30m` or `in 30m` runs once after a delay, `every 2h` again and again, `0 9 * * *` by cron and
 * `2026-12-01T09:00` once at a time.
 */

import { dayMs, daysInMonth, countDays, minuteMs, getMoment, resolveZone } from './civil-time.ts'
import { parseCron } from './cron-fields.ts'
import { canComeDue } from './next-run.ts'
import type { Schedule } from './schedule.ts'

/** `display`: the schedule in its shortest form. */
export type ParsedSchedule =
  | { readonly ok: true; readonly schedule: Schedule; readonly display: string }
  | { readonly ok: false; readonly error: string }

/** A time that has just passed is accepted: writing the request took a while. */
const maxLateMs = 120_000
const maxSpanMs = 3_650 * dayMs
export const maxScheduleChars = 200

const grammarHint =
  'Write 30m, 2h or 1d (once, after this time), every 30m, a cron expression such as "0 9 * * 1-5", or a time such as 2026-12-01T09:00.'

/** `zone`: an IANA zone that is known to exist, for cron expressions and for times without an offset. */
export type ScheduleContext = { readonly now: number; readonly zone: string }

export function parseSchedule(text: string, context: ScheduleContext): ParsedSchedule {
  const trimmed = text.trim().replace(/\s+/g, ' ')
  if (trimmed === '' || trimmed.length > maxScheduleChars)
    return failed(`The schedule is empty or too long. ${grammarHint}`)
  const [, every, amount, unit] = /^(?:(every )|in )?(\d{1,6}) ?([a-z]{1,8})$/i.exec(trimmed) ?? []
  if (amount !== undefined && unit !== undefined) return parseSpan({ every, amount, unit }, context.now)
  const [, year, month, day, clockText, offset] =
    /^(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?))?(Z|[+-]\d{2}:?\d{2})?$/i.exec(trimmed) ?? []
  if (year !== undefined)
    return parseTime({ date: [Number(year), Number(month), Number(day)], clockText, offset }, context)
  return parseCronText(trimmed, context)
}

const failed = (error: string): ParsedSchedule => ({ ok: false, error })

const unitsMs: readonly (readonly [names: readonly string[], ms: number, short: string])[] = [
  [['m', 'min', 'mins', 'minute', 'minutes'], minuteMs, 'm'],
  [['h', 'hr', 'hrs', 'hour', 'hours'], 60 * minuteMs, 'h'],
  [['d', 'day', 'days'], dayMs, 'd'],
  [['w', 'week', 'weeks'], 7 * dayMs, 'w'],
]

type IntervalWords = { readonly every: string | undefined; readonly amount: string; readonly unit: string }

function parseSpan({ every, amount, unit }: IntervalWords, now: number): ParsedSchedule {
  const [, ms, short] = unitsMs.find(([names]) => names.includes(unit.toLowerCase())) ?? []
  if (ms === undefined) return failed(`"${unit}" is no unit of time: use m, h, d or w. The smallest is a minute.`)
  const spanMs = Number(amount) * ms
  if (spanMs < minuteMs || spanMs > maxSpanMs) return failed('Use a time from one minute to 3650 days.')
  const span = `${Number(amount)}${short}`
  return every === undefined
    ? { ok: true, schedule: { kind: 'once', at: now + spanMs }, display: `once in ${span}` }
    : { ok: true, schedule: { kind: 'interval', from: now, everyMs: spanMs }, display: `every ${span}` }
}

type TimeText = {
  readonly date: readonly [number, number, number]
  readonly clockText: string | undefined
  readonly offset: string | undefined
}

function parseTime(text: TimeText, { now, zone }: ScheduleContext): ParsedSchedule {
  const { offset } = text
  const wall = parseWallTime(text)
  if (wall === undefined) return failed('There is no such date or time of day.')
  const offsetMs = offset === undefined ? undefined : parseOffset(offset)
  if (offsetMs === null) return failed(`"${offset}" is no offset from UTC, such as +02:00.`)
  const at = offsetMs === undefined ? getMoment(zone, wall) : wall - offsetMs
  if (at < now - maxLateMs) return failed('This time is over. Use a time in the future.')
  if (at > now + maxSpanMs) return failed('This time is more than 3650 days away.')
  return { ok: true, schedule: { kind: 'once', at }, display: `once at ${renderWallTime(text)} ${offset ?? zone}` }
}

/** Milliseconds as if it were UTC. */
function parseWallTime({ date, clockText = '00:00' }: TimeText): number | undefined {
  const [year, month, day] = date
  const [hour = 0, minute = 0, second = 0] = clockText.split(':').map(Number)
  const isDate = month >= 1 && month <= 12 && day >= 1 && day <= daysInMonth(year, month)
  if (!isDate || hour > 23 || minute > 59 || second >= 60) return undefined
  return countDays(year, month, day) * dayMs + (hour * 60 + minute) * minuteMs + Math.floor(second * 1_000)
}

const renderWallTime = ({ date: [year, month, day], clockText = '00:00' }: TimeText): string =>
  `${year}-${pad(month)}-${pad(day)} ${clockText}`

const pad = (value: number): string => String(value).padStart(2, '0')

/** Null for an offset that does not exist. */
function parseOffset(text: string): number | null {
  if (text.toUpperCase() === 'Z') return 0
  const hours = Number(text.slice(1, 3))
  const minutes = Number(text.slice(-2))
  if (hours > 15 || minutes > 59) return null
  return (text.startsWith('-') ? -1 : 1) * (hours * 60 + minutes) * minuteMs
}

function parseCronText(text: string, { zone }: ScheduleContext): ParsedSchedule {
  const [, own, rest = text] = /^(?:CRON_TZ|TZ)=(\S{1,64}) (.+)$/i.exec(text) ?? []
  const used = own === undefined ? zone : resolveZone(own)
  if (used === undefined) return failed(`"${own}" is no IANA time zone, such as Europe/Berlin.`)
  if (!rest.includes(' ') && !rest.startsWith('@'))
    return failed(`"${rest.slice(0, 40)}" is no schedule. ${grammarHint}`)
  const cron = parseCron(rest)
  if (!cron.ok) return failed(`${cron.error} ${grammarHint}`)
  if (!canComeDue(cron.fields)) return failed('This schedule never comes due: there is no such day.')
  const expression = own === undefined ? rest : `CRON_TZ=${own} ${rest}`
  return { ok: true, schedule: { kind: 'cron', expression, zone: used, fields: cron.fields }, display: expression }
}
