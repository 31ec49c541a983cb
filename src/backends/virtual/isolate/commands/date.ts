/** Adds offsets to date -d: `2026-03-01 +1 day`, `next month`, `3 hours ago`. All times are UTC. */

import { type Command, command, originalCommand } from './io.ts'

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
const namedCounts: Readonly<Record<string, number>> = { next: 1, last: -1, a: 1, '': 1 }

function addOffset(date: Date, count: number, unit: string): Date {
  const seconds = unitSeconds[unit]
  const next = new Date(date)
  if (seconds !== undefined) next.setTime(date.getTime() + count * seconds * 1000)
  else if (unit === 'month') next.setUTCMonth(date.getUTCMonth() + count)
  else next.setUTCFullYear(date.getUTCFullYear() + count)
  return next
}

function parseStart(text: string): Date | undefined {
  const named = namedDays[text.toLowerCase()]
  if (text === '' || named !== undefined) return new Date(Date.now() + (named ?? 0) * 86_400_000)
  if (/^@-?\d+$/.test(text)) return new Date(Number(text.slice(1)) * 1000)
  const iso = /^(\d{4}-\d{2}-\d{2})(?:[ T](\d{2}:\d{2}(?::\d{2})?))?\s*(?:UTC|Z|\+0000)?$/.exec(text)
  return iso ? new Date(`${iso[1]}T${iso[2] ?? '00:00:00'}Z`) : undefined
}

/** Parses a date with offsets. Undefined when there are none, or the rest is not a date. */
function parseDate(text: string): Date | undefined {
  const steps = [...text.matchAll(offsetPattern)]
  const rest = text.replace(offsetPattern, ' ').trim()
  let date = parseStart(rest)
  if (!date || (steps.length === 0 && namedDays[rest.toLowerCase()] === undefined)) return undefined
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
  '-Iseconds': '+%Y-%m-%dT%H:%M:%S+00:00',
}

function toTimestamp(text: string): string {
  const moment = parseDate(text)
  return moment ? `@${Math.floor(moment.getTime() / 1000)}` : text
}

export const date: Command = command('date', async (args, context) => {
  const ready = args.map((arg, i) => {
    if (/^(-d|--date)$/.test(args[i - 1] ?? '')) return toTimestamp(arg)
    const attached = /^(-d|--date=)(.+)$/s.exec(arg)
    if (attached) return `--date=${toTimestamp(attached[2] ?? '')}`
    return isoFormats[arg] ?? arg
  })
  return originalCommand(context)(ready)
})
