/** Adds offsets to date -d: `2026-03-01 +1 day`, `next month`, `3 hours ago`. All times are UTC. */

import { type Command, command, errorResult, originalCommand } from './io.ts'

const unitSeconds: Readonly<Record<string, number>> = {
  sec: 1,
  second: 1,
  min: 60,
  minute: 60,
  hour: 3600,
  day: 86_400,
  week: 604_800,
  fortnight: 1_209_600,
}
const offsetPattern =
  /([+-]?)\s{0,9}(?:(\b\d{1,9}|\bnext|\blast|\ba)\s{0,9})?\b(sec|second|min|minute|hour|day|week|fortnight|month|year)s?\b(\s{1,9}ago\b)?/gi
const namedDays: Readonly<Record<string, number>> = { now: 0, today: 0, yesterday: -1, tomorrow: 1 }
const weekdays = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday'] as const
const weekdayPattern =
  /\b(?:(this|next|last)\s{1,9})?(sun|mon|tues?|wed(?:nes)?|thu(?:rs?)?|fri|sat(?:ur)?)(?:day)?\b(?:,|(?=\s|$))/i
const namedCounts: Readonly<Record<string, number>> = { next: 1, last: -1, a: 1, '': 1 }

function addOffset(date: Date, count: number, unit: string): Date {
  const seconds = unitSeconds[unit]
  const next = new Date(date)
  if (seconds !== undefined) next.setTime(date.getTime() + count * seconds * 1000)
  else if (unit === 'month') next.setUTCMonth(date.getUTCMonth() + count)
  else next.setUTCFullYear(date.getUTCFullYear() + count)
  return next
}

/** Returns the midnight of a weekday, as GNU counts: the next one without a word, or the day itself. */
function parseWeekday(text: string): Date | undefined {
  const [whole, word = '', name = ''] = weekdayPattern.exec(text) ?? []
  if (whole === undefined || text.replace(whole, '').trim() !== '') return undefined
  const day = weekdays.findIndex((weekday) => weekday.startsWith(name.toLowerCase().slice(0, 3)))
  const midnight = new Date()
  midnight.setUTCHours(0, 0, 0, 0)
  const ahead = (day - midnight.getUTCDay() + 7) % 7
  const isNextWeek = word.toLowerCase() === 'next' && ahead === 0
  const weeks = word.toLowerCase() === 'last' ? -1 : Number(isNextWeek)
  return addOffset(midnight, ahead + 7 * weeks, 'day')
}

/** A time such as `3pm` or `11:30 am`. */
const halfDayPattern = /(?<=\s)(\d{1,2})(?::(\d{2}))?\s?([ap])\.?m\.?(?=\s|$)/i
const toFullTime = (_: string, hour: string, minute = '00', half: string): string =>
  `${String((Number(hour) % 12) + (half.toLowerCase() === 'p' ? 12 : 0)).padStart(2, '0')}:${minute}`

function parseStart(text: string): Date | undefined {
  const named = namedDays[text.toLowerCase()]
  if (text === '' || named !== undefined) return new Date(Date.now() + (named ?? 0) * 86_400_000)
  if (/^@-?\d+$/.test(text)) return new Date(Number(text.slice(1)) * 1000)
  const plain = text.replace(/^(\d{4})(\d{2})(\d{2})(?=\s|$)/, '$1-$2-$3').replace(halfDayPattern, toFullTime)
  const iso = /^(\d{4}-\d{2}-\d{2})(?:[ T](\d{2}:\d{2}(?::\d{2})?))?\s*(?:UTC|Z|\+0000)?$/.exec(plain)
  return iso ? new Date(`${iso[1]}T${iso[2] ?? '00:00:00'}Z`) : undefined
}

/** Forms that just-bash reads as another date, or not at all. */
const isOwnForm = (text: string): boolean =>
  /^\d{8}(?!\d)/.test(text) || halfDayPattern.test(text) || namedDays[text.toLowerCase()] !== undefined

/** Parses a date with offsets. Undefined when there are none, or the rest is not a date. */
function parseDate(text: string): Date | undefined {
  const steps = [...text.matchAll(offsetPattern)]
  const rest = text.replace(offsetPattern, ' ').trim()
  const weekday = parseWeekday(rest)
  let date = weekday ?? parseStart(rest)
  if (!date || (steps.length === 0 && !weekday && !isOwnForm(rest))) return undefined
  for (const [, sign, amount = '', unit = '', ago] of steps) {
    const count = namedCounts[amount.toLowerCase()] ?? Number(amount)
    date = addOffset(date, count * (sign === '-' ? -1 : 1) * (ago ? -1 : 1), unit.toLowerCase())
  }
  return date
}

const isoFormats: Readonly<Record<string, string>> = {
  '-I': '+%Y-%m-%d',
  '-Idate': '+%Y-%m-%d',
  '--iso-8601': '+%Y-%m-%d',
  '--iso-8601=date': '+%Y-%m-%d',
  ...Object.fromEntries(
    ['hours', 'minutes', 'seconds'].flatMap((unit, i) => {
      const format = `+%Y-%m-%dT${['%H', '%H:%M', '%H:%M:%S'][i]}+00:00`
      return [`-I${unit}`, `--iso-8601=${unit}`].map((option) => [option, format])
    }),
  ),
}

const months = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']
const wholeDates = [
  /(?<![\w-])(?<year>\d{4})-(?<month>\d{1,2})-(?<day>\d{1,2})(?!\d)/,
  /(?<![\w/])(?<month>\d{1,2})\/(?<day>\d{1,2})\/(?<year>\d{4})(?!\d)/,
  /(?<!\w)(?<day>\d{1,2})[ -](?<name>[a-z]{3})[a-z]{0,6}[,.]?[ -](?<year>\d{4})(?!\d)/i,
  /(?<!\w)(?<name>[a-z]{3})[a-z]{0,6}\.? (?<day>\d{1,2}),? (?<year>\d{4})(?!\d)/i,
]

/** Whether a whole date in the text has a day that its month has not. JavaScript reads it as one of the next month. */
const hasMissingDay = (text: string): boolean =>
  wholeDates.some((pattern) => {
    const { year, month, name = '', day }: Partial<Record<string, string>> = pattern.exec(text)?.groups ?? {}
    if (day === undefined) return false
    const nth = month === undefined ? months.indexOf(name.toLowerCase()) + 1 : Number(month)
    const last = new Date(Date.UTC(Number(year), nth, 0)).getUTCDate()
    const isMonth = nth >= 1 && nth <= 12
    return isMonth ? Number(day) < 1 || Number(day) > last : month !== undefined
  })

/** Undefined for a text that is no date: the command of just-bash would print another one. */
function toTimestamp(text: string): string | undefined {
  if (hasMissingDay(text)) return undefined
  const moment = parseDate(text)
  if (moment) return `@${Math.floor(moment.getTime() / 1000)}`
  return parseStart(text) || !Number.isNaN(Date.parse(text)) ? text : undefined
}

export const date: Command = command('date', async (given, context) => {
  // Options in one word, as -ud.
  const args = given.flatMap((arg) => (/^-[uR]+d$/.test(arg) ? [arg.slice(0, -1), '-d'] : [arg]))
  const unknown: string[] = []
  const convert = (text: string) => {
    const converted = toTimestamp(text)
    if (converted === undefined) unknown.push(text)
    return converted ?? text
  }
  const ready = args.map((arg, i) => {
    if (/^(-d|--date)$/.test(args[i - 1] ?? '')) return convert(arg)
    const attached = /^(-d|--date=)(.+)$/s.exec(arg)
    if (attached) return `--date=${convert(attached[2] ?? '')}`
    return isoFormats[arg] ?? arg
  })
  if (unknown.length) return errorResult('date', `invalid date '${unknown[0]}'`)
  return originalCommand(context)(ready)
})
