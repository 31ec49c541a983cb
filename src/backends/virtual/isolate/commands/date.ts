/** date -d with distances: `2026-03-01 +1 day`, `next month`, `3 hours ago`. Everything is UTC here. */

import { type Command, command, original } from './io.ts'

const SECONDS: Readonly<Record<string, number>> = {
  sec: 1,
  second: 1,
  min: 60,
  minute: 60,
  hour: 3600,
  day: 86_400,
  week: 604_800,
  fortnight: 1_209_600,
}
const DISTANCE =
  /([+-]?)\s*(\b\d+|\bnext|\blast|\ba)?\s*\b(sec|second|min|minute|hour|day|week|fortnight|month|year)s?\b(\s+ago\b)?/gi
const NAMED: Readonly<Record<string, number>> = { now: 0, today: 0, yesterday: -1, tomorrow: 1 }
const COUNTS: Readonly<Record<string, number>> = { next: 1, last: -1, a: 1, '': 1 }

function moved(date: Date, count: number, unit: string): Date {
  const seconds = SECONDS[unit]
  const next = new Date(date)
  if (seconds !== undefined) next.setTime(date.getTime() + count * seconds * 1000)
  else if (unit === 'month') next.setUTCMonth(date.getUTCMonth() + count)
  else next.setUTCFullYear(date.getUTCFullYear() + count)
  return next
}

function startOf(text: string): Date | undefined {
  const named = NAMED[text.toLowerCase()]
  if (text === '' || named !== undefined) return new Date(Date.now() + (named ?? 0) * 86_400_000)
  if (/^@-?\d+$/.test(text)) return new Date(Number(text.slice(1)) * 1000)
  const iso = /^(\d{4}-\d{2}-\d{2})(?:[ T](\d{2}:\d{2}(?::\d{2})?))?\s*(?:UTC|Z|\+0000)?$/.exec(text)
  return iso ? new Date(`${iso[1]}T${iso[2] ?? '00:00:00'}Z`) : undefined
}

/** The moment a text with distances in it names; undefined when there are none, or the rest is not understood. */
function momentOf(text: string): Date | undefined {
  const steps = [...text.matchAll(DISTANCE)]
  const rest = text.replace(DISTANCE, ' ').trim()
  let date = startOf(rest)
  if (!date || (steps.length === 0 && NAMED[rest.toLowerCase()] === undefined)) return undefined
  for (const [, sign, amount = '', unit = '', ago] of steps) {
    const count = COUNTS[amount.toLowerCase()] ?? Number(amount)
    date = moved(date, count * (sign === '-' ? -1 : 1) * (ago ? -1 : 1), unit.toLowerCase())
  }
  return date
}

const ISO: Readonly<Record<string, string>> = {
  '-I': '+%Y-%m-%d',
  '-Idate': '+%Y-%m-%d',
  '--iso-8601': '+%Y-%m-%d',
  '-Iseconds': '+%Y-%m-%dT%H:%M:%S+00:00',
}

function absolute(text: string): string {
  const moment = momentOf(text)
  return moment ? `@${Math.floor(moment.getTime() / 1000)}` : text
}

export const date: Command = command('date', async (args, context) => {
  const ready = args.map((arg, i) => {
    if (/^(-d|--date)$/.test(args[i - 1] ?? '')) return absolute(arg)
    const attached = /^(-d|--date=)(.+)$/s.exec(arg)
    if (attached) return `--date=${absolute(attached[2] ?? '')}`
    return ISO[arg] ?? arg
  })
  return original(context)(ready)
})
