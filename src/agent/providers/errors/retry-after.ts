/**
 * When a provider wants to be asked again. Every form seen in the wild: seconds, milliseconds, HTTP
 * dates, reset times in seconds or milliseconds since 1970 or as ISO 8601, durations such as 6m0s, and words.
 */

const units = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const
const dayMs = units.d
const resetHeaders = [
  'x-ratelimit-reset',
  'x-ratelimit-reset-requests',
  'x-ratelimit-reset-tokens',
  'ratelimit-reset',
] as const

/** Milliseconds from `now`; undefined when nothing was said. Never negative. */
export function retryAfter(
  headers: Headers | undefined,
  { text, resets = [] }: { readonly text: string; readonly resets?: readonly string[] | undefined },
  now: number,
): number | undefined {
  const fields = resets.map((value) => timeOf(value, now)).find((time) => time !== undefined)
  const told = fromHeaders(headers, now) ?? fields ?? fromText(text, now)
  return told === undefined ? undefined : Math.max(0, Math.round(told))
}

function fromHeaders(headers: Headers | undefined, now: number): number | undefined {
  if (!headers) return undefined
  const ms = Number(headers.get('retry-after-ms') ?? Number.NaN)
  if (ms >= 0) return ms
  const after = headers.get('retry-after')
  if (after !== null) return timeOf(after, now)
  if (headers.get('x-should-retry') === 'false') return undefined
  for (const name of resetHeaders) {
    const value = headers.get(name)
    const found = value === null ? undefined : timeOf(value, now)
    if (found !== undefined && remaining(headers, name) === 0) return found
  }
  return undefined
}

/** A reset header stands in every answer; it only counts when its allowance is used up, or nobody says. */
function remaining(headers: Headers, reset: string): number {
  const value = headers.get(reset.replace('reset', 'remaining'))
  return value === null ? 0 : Number(value)
}

/** A bare number is a duration in seconds, unless it is as large as a time since 1970. */
function timeOf(value: string, now: number): number | undefined {
  const number = Number(value)
  if (value.trim() !== '' && !Number.isNaN(number)) {
    if (number > 1e11) return number - now
    return number > 1e9 ? number * 1_000 - now : number * 1_000
  }
  return duration(value) ?? instant(value, now)
}

/** 6m0s, 1h2m, 850ms, 12.5s */
function duration(value: string): number | undefined {
  if (!/^(\d+(\.\d+)?(ms|s|m|h|d))+$/.test(value.trim())) return undefined
  let sum = 0
  for (const [, amount, unit] of value.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h|d)/g))
    sum += Number(amount) * units[unit as keyof typeof units]
  return sum
}

const months = 'janfebmaraprmayjunjulaugsepoctnovdec'

/** ISO 8601 and the HTTP date, without the platform's clock: this room has none. */
function instant(value: string, now: number): number | undefined {
  const iso = /^(\d{4})-(\d{2})-(\d{2})[t ](\d{2}):(\d{2}):(\d{2})(?:\.\d+)?(?:z|([+-]\d{2}):?(\d{2}))?$/i.exec(
    value.trim(),
  )
  const http = /^\w{3}, (\d{2}) (\w{3}) (\d{4}) (\d{2}):(\d{2}):(\d{2}) GMT$/.exec(value.trim())
  if (iso) {
    const [hours = 0, minutes = 0] = iso.slice(7).map((part) => Number(part ?? 0))
    return utc(iso.slice(1, 7).map(Number)) - hours * units.h - Math.sign(hours || 1) * minutes * units.m - now
  }
  if (!http) return undefined
  const [, day, month = '', year, ...time] = http
  return utc([Number(year), months.indexOf(month.toLowerCase()) / 3 + 1, Number(day), ...time.map(Number)]) - now
}

/** Days since 1970 by the civil calendar. */
function utc([year = 1970, month = 1, day = 1, hour = 0, minute = 0, second = 0]: readonly number[]): number {
  const shifted = month <= 2 ? year - 1 : year
  const era = Math.floor(shifted / 400)
  const yearOfEra = shifted - era * 400
  const dayOfYear = Math.floor((153 * (month + (month > 2 ? -3 : 9)) + 2) / 5) + day - 1
  const dayOfEra = yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear
  const days = era * 146_097 + dayOfEra - 719_468
  return days * dayMs + hour * units.h + minute * units.m + second * units.s
}

/** An amount with its unit, as people write it. */
const amount = String.raw`(\d+(?:\.\d+)?)\s*(ms|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?)(?![a-z])`
const amounts = new RegExp(`${amount}(?:(?:,|\\s|and)*${amount})*`)

/** "7m12s", "6.254s", "2 minutes and 30 seconds" */
function spelled(words: string): number | undefined {
  const span = amounts.exec(words)?.[0]
  if (span === undefined) return undefined
  let sum = 0
  for (const [, count, unit = ''] of span.matchAll(new RegExp(amount, 'g')))
    sum += Number(count) * (/^(ms|milli)/.test(unit) ? units.ms : units[unit[0] as keyof typeof units])
  return sum
}

/** "please try again in 20s", "retry after 5 minutes", "resets at 2026-11-21T12:00:00Z" */
function fromText(text: string, now: number): number | undefined {
  const until = /(?:resets? at|again at|until|after)\s+(\d{4}-\d{2}-\d{2}t[\d:.]*\d(?:z|[+-][\d:]{4,5})?)/.exec(
    text,
  )?.[1]
  if (until !== undefined) return instant(until, now)
  const said = /(?:try again in|retry after|retry in|resets? in|wait)\s+((?:[^.\n]|\.(?=\d)){1,40})/.exec(text)?.[1]
  return said === undefined ? undefined : spelled(said)
}
