/**
 * Decides whether a date or a time is what the person has typed, in the form that a tool wants: "December 24th 2026 at 6 pm
 * for two hours" is 2026-12-24 from 18:00 to 20:00. Whatever is not given by the text could carry something.
 */

const value = /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}):(\d{2})(?::00)?Z?)?$/

const monthNames: readonly (readonly string[])[] = [
  ['january', 'jan', 'januar'],
  ['february', 'feb', 'februar'],
  ['march', 'mar', 'märz'],
  ['april', 'apr'],
  ['may', 'mai'],
  ['june', 'jun', 'juni'],
  ['july', 'jul', 'juli'],
  ['august', 'aug'],
  ['september', 'sep', 'sept'],
  ['october', 'oct', 'oktober', 'okt'],
  ['november', 'nov'],
  ['december', 'dec', 'dezember', 'dez'],
]
const months: ReadonlyMap<string, number> = new Map(
  monthNames.flatMap((names, at) => names.map((name) => [name, at + 1] as const)),
)
const month = `(${[...months.keys()].toSorted((one, other) => other.length - one.length).join('|')})`
const ending = '(?:st|nd|rd|th|\\.)?'
const monthFirst = new RegExp(`(?<![\\p{L}\\p{N}])${month}\\.? (\\d{1,2})${ending}(?![\\d:])`, 'gu')
const dayFirst = new RegExp(`(?<![\\d.:])(\\d{1,2})${ending} (?:of )?${month}(?![\\p{L}\\p{N}])`, 'gu')
const isoDate = /(?<![\d-])(\d{4})-(\d{1,2})-(\d{1,2})(?![\d-])/g
const germanDate = /(?<![\d.])(\d{1,2})\. ?(\d{1,2})\. ?(\d{4})(?!\d)/g
const year = /(?<![\d.:-])(?:19|20)\d{2}(?![\d:])/g
const clock = /(?<![\d:.])(\d{1,2}):([0-5]\d)(?![\d:])(?: ?([ap])\.?m(?![\p{L}\p{N}]))?/gu
const fullHour = /(?<![\d:.])(\d{1,2}) ?(?:([ap])\.?m|uhr)(?![\p{L}\p{N}])/gu
const duration =
  /(?<![\p{L}\p{N}.:])(half an|\d{1,3}|an?|one|two|three|four|eine|zwei|drei|vier)[ -]?(hours?|hrs?|h|stunden?|minutes?|mins?|minuten?)(?![\p{L}\p{N}])/gu
const halfHour = 'half an'
const counts = [
  ['a', 'an', 'one', 'eine'],
  ['two', 'zwei'],
  ['three', 'drei'],
  ['four', 'vier'],
]
const dayMinutes = 24 * 60

type TypedTimes = { readonly dates: ReadonlySet<string>; readonly minutes: ReadonlySet<number> }

/** Reads the text at the first question. */
export function openTypedTimes(text: string): (given: string) => boolean {
  let known: TypedTimes | undefined
  return (given) => {
    const [, date, hour, minute] = value.exec(given) ?? []
    if (date === undefined) return false
    const { dates, minutes } = (known ??= readTimes(text.toLowerCase().replace(/\s+/g, ' ')))
    return dates.has(date) && (hour === undefined || minutes.has(Number(hour) * 60 + Number(minute)))
  }
}

function readTimes(text: string): TypedTimes {
  const years = [...text.matchAll(year)].map(([typed]) => typed)
  const days = [
    ...[...text.matchAll(monthFirst)].map(([, name = '', day = '']) => [months.get(name) ?? 0, day] as const),
    ...[...text.matchAll(dayFirst)].map(([, day = '', name = '']) => [months.get(name) ?? 0, day] as const),
  ]
  const dates = [
    ...[...text.matchAll(isoDate)].map(([, y = '', m = '', d = '']) => dateOf(y, m, d)),
    ...[...text.matchAll(germanDate)].map(([, d = '', m = '', y = '']) => dateOf(y, m, d)),
    ...days.flatMap(([m, d]) => years.map((y) => dateOf(y, m, d))),
  ]
  const starts = [
    ...[...text.matchAll(clock)].map(([, hour, minute, half]) => minuteOf(Number(hour), half) + Number(minute)),
    ...[...text.matchAll(fullHour)].map(([, hour, half]) => minuteOf(Number(hour), half)),
    ...(/(?<!\p{L})noon(?!\p{L})/u.test(text) ? [dayMinutes / 2] : []),
  ]
  const lengths = [...text.matchAll(duration)].map(
    ([, count = '', unit = '']) => readCount(count) * (/^[hs]/.test(unit) ? 60 : 1),
  )
  const minutes = starts.flatMap((start) => [start, ...lengths.map((length) => start + length)])
  return { dates: new Set(dates), minutes: new Set(minutes.filter((at) => at < dayMinutes)) }
}

function readCount(text: string): number {
  if (text === halfHour) return 0.5
  const at = counts.findIndex((words) => words.includes(text))
  return at < 0 ? Number(text) : at + 1
}

const dateOf = (y: string, m: string | number, d: string): string =>
  `${y}-${String(m).padStart(2, '0')}-${d.padStart(2, '0')}`

/** `half`: of the day, as a or p. */
const minuteOf = (hour: number, half: string | undefined): number =>
  (half === undefined ? hour : (hour % 12) + (half === 'p' ? 12 : 0)) * 60
