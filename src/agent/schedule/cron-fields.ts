/** Parses cron expressions of five fields, or six with seconds last as Hermes has them, with names and `@` presets. */

export type CronFields = {
  /** One number: the smallest unit of a schedule is the minute. */
  readonly second: number
  readonly minutes: readonly number[]
  readonly hours: readonly number[]
  readonly days: ReadonlySet<number>
  readonly months: ReadonlySet<number>
  /** Sunday is 0. */
  readonly weekdays: ReadonlySet<number>
  /** Both days and weekdays are limited: either may match, as in every cron. */
  readonly isEitherDay: boolean
}

export type CronResult =
  | { readonly ok: true; readonly fields: CronFields }
  | { readonly ok: false; readonly error: string }

type FieldSpec = {
  readonly name: string
  readonly min: number
  readonly max: number
  readonly names?: readonly string[]
}

const monthNames = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']
const weekdayNames = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat']

const specs = {
  second: { name: 'second', min: 0, max: 59 },
  minute: { name: 'minute', min: 0, max: 59 },
  hour: { name: 'hour', min: 0, max: 23 },
  day: { name: 'day of the month', min: 1, max: 31 },
  month: { name: 'month', min: 1, max: 12, names: monthNames },
  weekday: { name: 'day of the week', min: 0, max: 7, names: weekdayNames },
} as const satisfies Record<string, FieldSpec>

const presets: Readonly<Record<string, string>> = {
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
  '@monthly': '0 0 1 * *',
  '@weekly': '0 0 * * 0',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@hourly': '0 * * * *',
}

class FieldError extends Error {}

/** Parses an expression without a zone. */
export function parseCron(expression: string): CronResult {
  const text = Object.hasOwn(presets, expression.toLowerCase()) ? presets[expression.toLowerCase()] : expression
  const words = (text ?? '').trim().split(/\s+/)
  if (words.length !== 5 && words.length !== 6)
    return {
      ok: false,
      error: `A cron expression has five fields (minute hour day month weekday), not ${words.length}.`,
    }
  try {
    return { ok: true, fields: parseFields(words) }
  } catch (error) {
    if (error instanceof FieldError) return { ok: false, error: error.message }
    throw error
  }
}

function parseFields(words: readonly string[]): CronFields {
  const [minute = '', hour = '', day = '', month = '', weekday = '', seconds = '0'] = words
  const second = [...parseField(seconds, specs.second)]
  if (second.length !== 1)
    throw new FieldError('The sixth field is the second and takes one number: a schedule runs at most once a minute.')
  return {
    second: second[0] ?? 0,
    minutes: sorted(parseField(minute, specs.minute)),
    hours: sorted(parseField(hour, specs.hour)),
    days: parseField(day, specs.day),
    months: parseField(month, specs.month),
    weekdays: new Set([...parseField(weekday, specs.weekday)].map((value) => value % 7)),
    isEitherDay: !isAny(day) && !isAny(weekday),
  }
}

const sorted = (values: ReadonlySet<number>): readonly number[] => [...values].toSorted((a, b) => a - b)
const isAny = (text: string): boolean => text === '*' || text === '?' || text === '*/1'

function parseField(text: string, spec: FieldSpec): ReadonlySet<number> {
  const values = new Set<number>()
  for (const part of text.split(',')) for (const value of parsePart(part, spec)) values.add(value)
  return values
}

function parsePart(part: string, spec: FieldSpec): readonly number[] {
  const [range = '', stepText, ...rest] = part.split('/')
  const step = stepText === undefined ? 1 : parseNumber(stepText, part, spec)
  if (rest.length || step < 1) throw invalid(part, spec)
  const [from, to] = parseRange(range, { part, hasStep: stepText !== undefined, spec })
  const values: number[] = []
  for (let value = from; value <= to; value += step) values.push(value)
  return values
}

type RangeContext = { readonly part: string; readonly hasStep: boolean; readonly spec: FieldSpec }

function parseRange(range: string, { part, hasStep, spec }: RangeContext): readonly [number, number] {
  // 7 is another name of Sunday, and not a further day of a range.
  const last = spec.max === 7 ? 6 : spec.max
  if (range === '*' || range === '?') return [spec.min, last]
  const [low = '', high, ...rest] = range.split('-')
  if (rest.length) throw invalid(part, spec)
  const from = parseValue(low, part, spec)
  if (high === undefined) return [from, hasStep ? Math.max(last, from) : from]
  const to = parseValue(high, part, spec)
  // `FRI-SUN` ends with the Sunday after Friday.
  const end = to === 0 && from > 0 && spec.max === 7 ? 7 : to
  if (end < from) throw invalid(part, spec)
  return [from, end]
}

function parseValue(text: string, part: string, spec: FieldSpec): number {
  const named = spec.names?.indexOf(text.toLowerCase()) ?? -1
  const value = named >= 0 ? named + (spec.names === monthNames ? 1 : 0) : parseNumber(text, part, spec)
  if (value < spec.min || value > spec.max) throw invalid(part, spec)
  return value
}

function parseNumber(text: string, part: string, spec: FieldSpec): number {
  if (!/^\d{1,4}$/.test(text)) throw invalid(part, spec)
  return Number(text)
}

const invalid = (part: string, { name, min, max, names }: FieldSpec): FieldError =>
  new FieldError(
    `"${part.slice(0, 40)}" is no ${name}: use ${min} to ${max}${names ? ` or ${names[0]?.toUpperCase()} to ${names.at(-1)?.toUpperCase()}` : ''}, with * , - and /.`,
  )
