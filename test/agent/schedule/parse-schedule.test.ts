import { describe, expect, it } from 'vitest'
import { nextRun } from '#agent/schedule/next-run.ts'
import { parseSchedule } from '#agent/schedule/parse-schedule.ts'
import { restoreSchedule, storeSchedule } from '#agent/schedule/schedule.ts'

const now = Date.parse('2026-11-23T10:00:00Z')
const parse = (text: string, zone = 'Europe/Berlin') => parseSchedule(text, { now, zone })
const at = (text: string, zone?: string) => {
  const parsed = parse(text, zone)
  if (!parsed.ok) throw new Error(parsed.error)
  const next = nextRun(restoreSchedule(JSON.parse(JSON.stringify(storeSchedule(parsed.schedule)))), now)
  return next === undefined ? undefined : new Date(next).toISOString()
}

describe('CR1: the text of a schedule', () => {
  it.each([
    ['30m', 'once', '2026-11-23T10:30:00.000Z'],
    ['2h', 'once', '2026-11-23T12:00:00.000Z'],
    ['in 2h', 'once', '2026-11-23T12:00:00.000Z'],
    ['In 30 minutes', 'once', '2026-11-23T10:30:00.000Z'],
    ['1d', 'once', '2026-11-24T10:00:00.000Z'],
    ['every 2h', 'interval', '2026-11-23T12:00:00.000Z'],
    ['Every 30 minutes', 'interval', '2026-11-23T10:30:00.000Z'],
    ['0 9 * * *', 'cron', '2026-11-24T08:00:00.000Z'],
    ['2026-12-01T09:00', 'once', '2026-12-01T08:00:00.000Z'],
    ['2026-12-01 09:00:30', 'once', '2026-12-01T08:00:30.000Z'],
    ['2026-12-01T09:00Z', 'once', '2026-12-01T09:00:00.000Z'],
    ['2026-12-01T09:00+05:30', 'once', '2026-12-01T03:30:00.000Z'],
    ['2026-12-01', 'once', '2026-11-30T23:00:00.000Z'],
    ['@daily', 'cron', '2026-11-23T23:00:00.000Z'],
    ['@hourly', 'cron', '2026-11-23T11:00:00.000Z'],
    ['@weekly', 'cron', '2026-11-28T23:00:00.000Z'],
    ['@monthly', 'cron', '2026-11-30T23:00:00.000Z'],
    ['@yearly', 'cron', '2026-12-31T23:00:00.000Z'],
  ])('%s is %s', (text, kind, next) => {
    expect(parse(text)).toMatchObject({ ok: true, schedule: { kind } })
    expect(at(text)).toBe(next)
  })

  it.each([
    ['0 9 * * mon-fri', '2026-11-24T08:00:00.000Z'],
    ['0 9 * JAN,MAR sun', '2027-01-03T08:00:00.000Z'],
    ['0 9 * * FRI-SUN', '2026-11-27T08:00:00.000Z'],
    ['0 9 * * 7', '2026-11-29T08:00:00.000Z'],
    ['0 9 1 * 3', '2026-11-25T08:00:00.000Z'],
    ['*/20 * * * *', '2026-11-23T10:20:00.000Z'],
    ['5/20 * * * *', '2026-11-23T10:05:00.000Z'],
    ['0 12 * * * 30', '2026-11-23T11:00:30.000Z'],
    ['CRON_TZ=America/New_York 0 9 * * *', '2026-11-23T14:00:00.000Z'],
    ['TZ=UTC 0 9 * * *', '2026-11-24T09:00:00.000Z'],
    ['0 0 29 2 *', '2028-02-28T23:00:00.000Z'],
  ])('reads the cron expression %s', (text, next) => expect(at(text)).toBe(next))

  it.each([
    ['every 30s', 'The smallest is a minute'],
    ['0m', 'from one minute'],
    ['tomorrow', 'is no schedule'],
    ['0 25 * * *', 'is no hour'],
    ['0 9 * * noday', 'is no day of the week'],
    ['0 9 * *', 'five fields'],
    ['*/5 * * * * *', 'at most once a minute'],
    ['0 0 30 2 *', 'never comes due'],
    ['0 0 31 4,6 *', 'never comes due'],
    ['CRON_TZ=Mars/Olympus 0 9 * * *', 'no IANA time zone'],
    ['2026-02-30T09:00', 'no such date'],
    ['2026-12-01T09:00+99:00', 'offset'],
    ['*/0 * * * *', 'is no minute'],
    ['@reboot', 'five fields'],
    ['', 'empty'],
    ['9999999999w', 'is no schedule'],
  ])('refuses %j', (text, error) => {
    const parsed = parse(text)
    expect(parsed.ok).toBe(false)
    expect(!parsed.ok && parsed.error).toContain(error)
  })
})

describe('CR2: a time that has passed', () => {
  it('is accepted up to two minutes late, and refused later', () => {
    expect(parse('2026-11-23T09:59:00Z').ok).toBe(true)
    expect(parse('2026-11-23T09:58:00Z').ok).toBe(true)
    expect(parse('2026-11-23T09:50:00Z')).toMatchObject({
      ok: false,
      error: 'This time is over. Use a time in the future.',
    })
  })
})

describe('a change of the clock', () => {
  const from = (text: string, zone: string, after: string, count: number) => {
    const parsed = parseSchedule(text, { now: Date.parse(after), zone })
    if (!parsed.ok) throw new Error(parsed.error)
    const runs: string[] = []
    for (let time = nextRun(parsed.schedule, Date.parse(after)); time !== undefined && runs.length < count;) {
      runs.push(new Date(time).toISOString().slice(5, 16))
      time = nextRun(parsed.schedule, time)
    }
    return runs
  }

  it.each([
    [
      'a time that is jumped over runs after the jump',
      '30 2 * * *',
      'Europe/Berlin',
      '2026-03-28T12:00:00Z',
      ['03-29T01:00', '03-30T00:30'],
    ],
    [
      'times that are jumped over run once',
      '*/15 2 * * *',
      'Europe/Berlin',
      '2026-03-28T12:00:00Z',
      ['03-29T01:00', '03-30T00:00'],
    ],
    [
      'a time that comes twice runs at its first',
      '30 2 * * *',
      'Europe/Berlin',
      '2026-10-24T12:00:00Z',
      ['10-25T00:30', '10-26T01:30'],
    ],
    [
      'an hour that comes twice runs once',
      '0 * * * *',
      'America/New_York',
      '2026-11-01T04:30:00Z',
      ['11-01T05:00', '11-01T07:00'],
    ],
    [
      'a jump of half an hour',
      '15 2 * * *',
      'Australia/Lord_Howe',
      '2026-10-03T12:00:00Z',
      ['10-03T15:30', '10-04T15:15'],
    ],
  ] as const)('%s', (...[, text, zone, after, expected]) =>
    expect(from(text, zone, after, expected.length)).toEqual(expected),
  )

  it('does not move an interval', () =>
    expect(from('every 1d', 'Europe/Berlin', '2026-03-28T12:00:00Z', 2)).toEqual(['03-29T12:00', '03-30T12:00']))
})
