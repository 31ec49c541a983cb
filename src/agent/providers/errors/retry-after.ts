/**
 * Parses how long a provider asks callers to wait before a retry. Known forms: seconds, milliseconds, HTTP
 * dates, reset times in seconds or milliseconds since 1970 or as ISO 8601, durations such as 6m0s, and prose.
 */

const unitMs = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const
const dayMs = unitMs.d
const resetHeaders = [
  'x-ratelimit-reset',
  'x-ratelimit-reset-requests',
  'x-ratelimit-reset-tokens',
  'ratelimit-reset',
] as const

/** Returns milliseconds from `now`, never negative; undefined when the error names no time. Headers win over fields and text. */
export function parseRetryAfter(
  headers: Headers | undefined,
  { text, resets = [] }: { readonly text: string; readonly resets?: readonly string[] | undefined },
  now: number,
): number | undefined {
  const fields = resets.map((value) => parseWaitMs(value, now)).find((time) => time !== undefined)
  const waitMs = parseHeaders(headers, now) ?? fields ?? parseText(text, now)
  return waitMs === undefined ? undefined : Math.max(0, Math.round(waitMs))
}

function parseHeaders(headers: Headers | undefined, now: number): number | undefined {
  if (!headers) return undefined
  const ms = Number(headers.get('retry-after-ms') ?? Number.NaN)
  if (ms >= 0) return ms
  const after = headers.get('retry-after')
  if (after !== null) return parseWaitMs(after, now)
  if (headers.get('x-should-retry') === 'false') return undefined
  for (const name of resetHeaders) {
    const value = headers.get(name)
    const found = value === null ? undefined : parseWaitMs(value, now)
    if (found !== undefined && getRemaining(headers, name) === 0) return found
  }
  return undefined
}

/** Returns what is left of the allowance. Reset headers are in every answer; they only count when nothing is left. */
function getRemaining(headers: Headers, reset: string): number {
  const value = headers.get(reset.replace('reset', 'remaining'))
  return value === null ? 0 : Number(value)
}

/** Parses a duration or a time. A bare number means seconds, unless it is as large as a time since 1970. */
function parseWaitMs(value: string, now: number): number | undefined {
  const number = Number(value)
  if (value.trim() !== '' && !Number.isNaN(number)) {
    if (number > 1e11) return number - now
    return number > 1e9 ? number * 1_000 - now : number * 1_000
  }
  return parseDuration(value) ?? parseDate(value, now)
}

/** Parses durations such as 6m0s, 1h2m, 850ms and 12.5s. */
function parseDuration(value: string): number | undefined {
  if (!/^(\d+(\.\d+)?(ms|s|m|h|d))+$/.test(value.trim())) return undefined
  let sum = 0
  for (const [, amount, unit] of value.matchAll(/(\d{1,12}(?:\.\d{1,12})?)(ms|s|m|h|d)/g))
    sum += Number(amount) * unitMs[unit as keyof typeof unitMs]
  return sum
}

const monthNames = 'janfebmaraprmayjunjulaugsepoctnovdec'

/** Parses ISO 8601 and HTTP dates by hand, because code in src/agent must not use `Date`. */
function parseDate(value: string, now: number): number | undefined {
  const iso = /^(\d{4})-(\d{2})-(\d{2})[t ](\d{2}):(\d{2}):(\d{2})(?:\.\d+)?(?:z|([+-]\d{2}):?(\d{2}))?$/i.exec(
    value.trim(),
  )
  const http = /^\w{3}, (\d{2}) (\w{3}) (\d{4}) (\d{2}):(\d{2}):(\d{2}) GMT$/.exec(value.trim())
  if (iso) {
    const [hours = 0, minutes = 0] = iso.slice(7).map((part) => Number(part ?? 0))
    return toUtcMs(iso.slice(1, 7).map(Number)) - hours * unitMs.h - Math.sign(hours || 1) * minutes * unitMs.m - now
  }
  if (!http) return undefined
  const [, day, month = '', year, ...time] = http
  return (
    toUtcMs([Number(year), monthNames.indexOf(month.toLowerCase()) / 3 + 1, Number(day), ...time.map(Number)]) - now
  )
}

/** Converts a civil date to milliseconds since 1970, by counting days in the proleptic Gregorian calendar. */
function toUtcMs([year = 1970, month = 1, day = 1, hour = 0, minute = 0, second = 0]: readonly number[]): number {
  const shifted = month <= 2 ? year - 1 : year
  const era = Math.floor(shifted / 400)
  const yearOfEra = shifted - era * 400
  const dayOfYear = Math.floor((153 * (month + (month > 2 ? -3 : 9)) + 2) / 5) + day - 1
  const dayOfEra = yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear
  const days = era * 146_097 + dayOfEra - 719_468
  return days * dayMs + hour * unitMs.h + minute * unitMs.m + second * unitMs.s
}

/** An amount with its unit, as in prose. */
const amountPattern = String.raw`(\d+(?:\.\d+)?)\s*(ms|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?)(?![a-z])`
const amountsPattern = new RegExp(`${amountPattern}(?:(?:,|\\s|and)*${amountPattern})*`)

/** Parses "7m12s", "6.254s" or "2 minutes and 30 seconds". */
function parseSpelledDuration(text: string): number | undefined {
  const span = amountsPattern.exec(text)?.[0]
  if (span === undefined) return undefined
  let sum = 0
  for (const [, count, unit = ''] of span.matchAll(new RegExp(amountPattern, 'g')))
    sum += Number(count) * (/^(ms|milli)/.test(unit) ? unitMs.ms : unitMs[unit[0] as keyof typeof unitMs])
  return sum
}

/** Parses "please try again in 20s", "retry after 5 minutes" or "resets at 2026-11-21T12:00:00Z". */
function parseText(text: string, now: number): number | undefined {
  const until = /(?:resets? at|again at|until|after)\s+(\d{4}-\d{2}-\d{2}t[\d:.]*\d(?:z|[+-][\d:]{4,5})?)/.exec(
    text,
  )?.[1]
  if (until !== undefined) return parseDate(until, now)
  const duration = /(?:try again in|retry after|retry in|resets? in|wait)\s+((?:[^.\n]|\.(?=\d)){1,40})/.exec(text)?.[1]
  return duration === undefined ? undefined : parseSpelledDuration(duration)
}
