/** Reads the time that a query names, such as "in June 2025" or "yesterday", and divides a time into weeks of the index. */

import { weekNumber } from '../index-text.ts'

/** Milliseconds since 1970: from `from` on, and before `to`. */
export type Period = { readonly from?: number | undefined; readonly to?: number | undefined }

/** Weeks of the index, or the first digits of several. */
export type WeekRange = readonly (number | string)[]

const dayMs = 24 * 60 * 60 * 1000

/** The names of the months in English, German, French, Spanish and Russian, by their first letters. */
const months = [
  'jan(?:uary|uar|vier)?|jänner|enero|январ[ьяе]',
  'feb(?:ruary|ruar|rero)?|février|феврал[ьяе]',
  'mar(?:ch|s|zo)?|märz|март[ае]?',
  'apr(?:il)?|avril|abril|апрел[ьяе]',
  'may|mai|mayo|ма[йяе]',
  'june?|juni|juin|junio|июн[ьяе]',
  'july?|juli|juillet|julio|июл[ьяе]',
  'aug(?:ust)?|août|aout|agosto|август[ае]?',
  'sep(?:t|tember|tembre|tiembre)?|septiembre|сентябр[ьяе]',
  'o[ck]t(?:ober|obre|ubre)?|октябр[ьяе]',
  'nov(?:ember|embre|iembre)?|ноябр[ьяе]',
  'de[cz](?:ember)?|décembre|diciembre|декабр[ьяе]',
] as const
const monthPatterns = months.map((names) => new RegExp(`^(?:${names})$`, 'iu'))
const monthOf = (name: string): number => monthPatterns.findIndex((pattern) => pattern.test(name.replace(/\.$/, '')))

const monthYear = /(?<![\p{L}\p{N}])(\p{L}{3,10}\.?),?\s+(?:of\s+|de\s+|del\s+)?(\d{4})(?!\d)/giu
const dayMonthYear =
  /(?<!\d)(?<day>\d{1,2})\.?(?:st|nd|rd|th|er)?\s+(?:of\s+|de\s+)?(?<name>\p{L}{3,10}\.?),?\s+(?:of\s+|de\s+)?(?<year>\d{4})(?!\d)/giu
const monthDayYear =
  /(?<![\p{L}\p{N}])(?<name>\p{L}{3,10}\.?)\s+(?<day>\d{1,2})(?:st|nd|rd|th)?,?\s+(?<year>\d{4})(?!\d)/giu
const easternMonth = /(\d{4})\s*[年년]\s*(?:(\d{1,2})\s*[月월])?(?:\s*(\d{1,2})\s*[日일])?/u
const easternDay = /(?<year>\d{4})\s*[年년]\s*(?<month>\d{1,2})\s*[月월]\s*(?<day>\d{1,2})\s*[日일]/gu
const isoDay = /(?<![\w-])(\d{4})-(\d{2})(?:-(\d{2}))?(?![\w-])/
const yearAlone =
  /(?<![\p{L}\p{N}])(?:in|im jahr|en|во?|dans l'année|en el año)\s+(\d{4})(?:\s+году)?(?![\p{L}\p{N}])/iu

/** Days before the beginning of today: from, to. */
const relativeDays: readonly (readonly [RegExp, number, number])[] = [
  [
    /(?<!\p{L})(?:the day before yesterday|vorgestern|avant-hier|anteayer|позавчера)(?!\p{L})|前天|一昨日|그저께/iu,
    2,
    1,
  ],
  [/(?<!\p{L})(?:yesterday|gestern|hier soir|ayer|вчера)(?!\p{L})|昨天|昨日|어제/iu, 1, 0],
  [/(?<!\p{L})(?:today|heute|aujourd'hui|hoy|сегодня)(?!\p{L})|今天|今日|오늘/iu, 0, -1],
  [
    /(?<!\p{L})(?:last week|letzte[nr]? woche|la semaine dernière|la semana pasada|на прошлой неделе)(?!\p{L})|上周|上週|先週|지난주/iu,
    14,
    0,
  ],
  [
    /(?<!\p{L})(?:last month|letzte[nr]? monat|le mois dernier|el mes pasado|в прошлом месяце)(?!\p{L})|上个月|上個月|先月|지난달/iu,
    62,
    0,
  ],
]

/** Undefined when the text names no time. */
export const readPeriod = (text: string, now: number): Period | undefined =>
  readNamedMonth(text) ?? readNumbers(text) ?? readRelative(text, now)

function readNamedMonth(text: string): Period | undefined {
  const found = [
    ...[...text.matchAll(dayMonthYear)].map(([, day, name = '', year]) => ({ day, name, year })),
    ...[...text.matchAll(monthDayYear)].map(([, name = '', day, year]) => ({ day, name, year })),
    ...[...text.matchAll(monthYear)].map(([, name = '', year]) => ({ day: undefined, name, year })),
  ].find(({ name }) => monthOf(name) >= 0)
  return found && periodOf(Number(found.year), monthOf(found.name), found.day ? Number(found.day) : undefined)
}

function readNumbers(text: string): Period | undefined {
  const found = isoDay.exec(text) ?? easternMonth.exec(text) ?? yearAlone.exec(text)
  if (!found) return undefined
  const [, year, month, day] = found
  return periodOf(Number(year), month ? Number(month) - 1 : undefined, day ? Number(day) : undefined)
}

function readRelative(text: string, now: number): Period | undefined {
  const today = Math.floor(now / dayMs) * dayMs
  const found = relativeDays.find(([pattern]) => pattern.test(text))
  return found && { from: today - found[1] * dayMs, to: today - found[2] * dayMs }
}

/** The beginning of a year, month or day, in UTC. Undefined when there is no such. */
export function readDay(text: string): number | undefined {
  const [, year, month = '01', day = '01'] = /^(\d{4})(?:-(\d{2}))?(?:-(\d{2}))?$/.exec(text) ?? []
  if (year === undefined || !isDay(Number(year), Number(month) - 1, Number(day))) return undefined
  return Date.parse(`${year}-${month}-${day}T00:00:00Z`)
}

/** `month`: from 0. A date that does not exist would become one of the next month. */
const isDay = (year: number, month: number, day: number): boolean =>
  month >= 0 && month < 12 && day >= 1 && day <= new Date(Date.UTC(year, month + 1, 0)).getUTCDate()

const filterDate = /(?<!\S)(?:after|before):"?(\d[^\s"]*)/giu
const wholeDate = /(?<![\w-])(?<year>(?:19|20|21)\d\d)-(?<month>\d{1,2})-(?<day>\d{1,2})(?![\w-])/g

/** Describes a date of the query that does not exist, such as "after:2025-13", "2025-02-30" or "31 June 2025". */
export function findWrongDate(query: string): string | undefined {
  const wrong =
    [...query.matchAll(filterDate)].find(([, value = '']) => readDay(value) === undefined)?.[1] ??
    [wholeDate, dayMonthYear, monthDayYear, easternDay]
      .flatMap((pattern) => [...query.matchAll(pattern)])
      .find(({ groups = {} }) => {
        const { year, month, name = '', day }: Partial<Record<string, string>> = groups
        const at = month ? Number(month) - 1 : monthOf(name)
        return (month || at >= 0) && !isDay(Number(year), at, Number(day))
      })?.[0]
  return wrong === undefined
    ? undefined
    : `There is no date ${wrong}: it was searched as words. Write a day as 2025-06-30, a month as 2025-06.`
}

/** A year, a month from 0 or a day. Undefined when there is no such. */
function periodOf(year: number, month?: number, day?: number): Period | undefined {
  if (year < 1971 || year > 2200 || (month !== undefined && (month < 0 || month > 11))) return undefined
  if (month === undefined) return { from: Date.UTC(year, 0), to: Date.UTC(year + 1, 0) }
  if (day === undefined) return { from: Date.UTC(year, month), to: Date.UTC(year, month + 1) }
  if (!isDay(year, month, day)) return undefined
  return { from: Date.UTC(year, month, day), to: Date.UTC(year, month, day + 1) }
}

/** The time that is in both. */
export const intersect = (one: Period, other: Period): Period => ({
  from: Math.max(one.from ?? 0, other.from ?? 0),
  to: Math.min(one.to ?? Infinity, other.to ?? Infinity),
})

/** Weeks have four digits from 1989 to 2161. */
const [firstWeek, lastWeek] = [1_000, 9_999]

/**
 * Divides a time into weeks, and tens and hundreds of them by their first digits, so that a long time needs few words of the
 * index. Undefined without a time.
 */
export function weeksOf({ from, to }: Period): WeekRange | undefined {
  if (from === undefined && to === undefined) return undefined
  const first = Math.max(firstWeek, weekNumber(from ?? 0))
  const last = Math.min(lastWeek, to === undefined || to === Infinity ? lastWeek : weekNumber(to - 1))
  const weeks: (number | string)[] = []
  for (let week = first; week <= last;) {
    const size = [1_000, 100, 10].find((step) => week % step === 0 && week + step - 1 <= last) ?? 1
    weeks.push(size === 1 ? week : String(week / size))
    week += size
  }
  return weeks.length ? weeks : [0]
}
