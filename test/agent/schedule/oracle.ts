/**
 * Finds the next run of a cron expression by looking at every minute: a second, slow implementation that shares nothing with
 * the first. It reads the wall clock from `Intl` and keeps the rule for changes of the clock.
 */

const dayMs = 86_400_000
const minuteMs = 60_000

export type OracleFields = {
  readonly minutes: readonly number[]
  readonly hours: readonly number[]
  readonly days: readonly number[] | '*'
  readonly months: readonly number[] | '*'
  readonly weekdays: readonly number[] | '*'
}

/** A minute on the wall, and the moment at which a job for it runs. */
type WallMinute = {
  readonly moment: number
  readonly minute: number
  readonly hour: number
  readonly day: number
  readonly month: number
  readonly weekday: number
}

const quarter = 15

/**
 * Lists the minutes that the wall clock of a zone shows, in their order. A minute that comes twice is listed once, with its
 * first moment. A minute that is jumped over has the moment after the jump.
 */
export function listWallMinutes(zone: string, from: number, days: number): readonly WallMinute[] {
  const format = new Intl.DateTimeFormat('sv-SE', { timeZone: zone, dateStyle: 'short', timeStyle: 'medium' })
  const minutes: WallMinute[] = []
  let wall = 0
  let highest: number | undefined
  for (let n = 0; n < (days * dayMs) / minuteMs; n++) {
    const moment = from + n * minuteMs
    // No zone changes its clock within a quarter of an hour.
    wall = n % quarter === 0 ? Date.parse(`${format.format(moment).replace(' ', 'T')}Z`) : wall + minuteMs
    for (let shown = (highest ?? wall - minuteMs) + minuteMs; shown <= wall; shown += minuteMs)
      minutes.push(readMinute(shown, moment))
    highest = Math.max(highest ?? wall, wall)
  }
  return minutes
}

function readMinute(shown: number, moment: number): WallMinute {
  const date = new Date(shown)
  return {
    moment,
    minute: date.getUTCMinutes(),
    hour: date.getUTCHours(),
    day: date.getUTCDate(),
    month: date.getUTCMonth() + 1,
    weekday: date.getUTCDay(),
  }
}

export const oracleNextRun = (fields: OracleFields, walls: readonly WallMinute[], after: number): number | undefined =>
  walls.find((wall) => wall.moment > after && matches(fields, wall))?.moment

const has = (list: readonly number[] | '*', value: number): boolean => list === '*' || list.includes(value)

function matches({ minutes, hours, days, months, weekdays }: OracleFields, wall: WallMinute): boolean {
  if (!minutes.includes(wall.minute) || !hours.includes(wall.hour) || !has(months, wall.month)) return false
  const isDay = has(days, wall.day)
  const isWeekday = has(weekdays, wall.weekday)
  return days !== '*' && weekdays !== '*' ? isDay || isWeekday : isDay && isWeekday
}

/** Lists the moments from `from` to `to` at which the clock of a zone changes, to the quarter of an hour. */
export function listClockChanges(zone: string, from: number, to: number): readonly number[] {
  const format = new Intl.DateTimeFormat('sv-SE', { timeZone: zone, dateStyle: 'short', timeStyle: 'medium' })
  const offset = (moment: number) => Date.parse(`${format.format(moment).replace(' ', 'T')}Z`) - moment
  const changes: number[] = []
  for (let day = from; day < to; day += dayMs) {
    const before = offset(day)
    if (before === offset(day + dayMs)) continue
    let moment = day
    while (offset(moment) === before) moment += quarter * minuteMs
    changes.push(moment)
  }
  return changes
}
