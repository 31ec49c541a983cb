import { describe, expect, it } from 'vitest'
import { catchUp, graceMs } from '#agent/schedule/catch-up.ts'
import { parseSchedule } from '#agent/schedule/parse-schedule.ts'

const start = Date.parse('2026-11-23T00:00:00Z')
const minuteMs = 60_000
const hourMs = 60 * minuteMs
const schedule = (text: string) => {
  const parsed = parseSchedule(text, { now: start, zone: 'UTC' })
  if (!parsed.ok) throw new Error(parsed.error)
  return parsed.schedule
}

describe('the grace of a schedule', () => {
  it.each([
    ['every 1m', 2 * minuteMs],
    ['every 10m', 5 * minuteMs],
    ['every 1h', 30 * minuteMs],
    ['every 1d', 2 * hourMs],
    ['0 9 * * *', 2 * hourMs],
  ])('of %s is half its period, from 2 minutes to 2 hours', (text, expected) =>
    expect(graceMs(schedule(text), start)).toBe(expected),
  )
})

describe('slots that came due while nothing ran', () => {
  it('CR3: an hourly job that is 35 minutes late runs once', () => {
    const now = start + hourMs + 35 * minuteMs
    expect(catchUp(schedule('every 1h'), start + hourMs, now)).toEqual({
      run: { slot: start + hourMs, isLate: true },
      missed: [],
      next: start + 2 * hourMs,
    })
  })

  it('collapse to one run of the last one', () => {
    const found = catchUp(schedule('every 10m'), start + 10 * minuteMs, start + 35 * minuteMs)
    expect(found.run).toEqual({ slot: start + 30 * minuteMs, isLate: false })
    expect(found.missed.map(({ slot }) => (slot - start) / minuteMs)).toEqual([10, 20])
    expect(found.next).toBe(start + 40 * minuteMs)
  })

  it('are skipped when they are too old', () => {
    const found = catchUp(schedule('0 9 * * *'), start + 9 * hourMs, start + 20 * hourMs)
    expect(found).toEqual({ skipped: start + 9 * hourMs, missed: [], next: start + 33 * hourMs })
  })

  it('of very many the oldest share a record, and every slot counts once', () => {
    const now = start + 2_000 * minuteMs
    const { run, missed } = catchUp(schedule('every 1m'), start + minuteMs, now)
    expect(run?.slot).toBe(now)
    expect(missed).toHaveLength(10)
    expect(missed[0]?.slot).toBe(start + minuteMs)
  })

  it('of a few hundred the records cover each of them', () => {
    const { missed } = catchUp(schedule('every 1m'), start + minuteMs, start + 300 * minuteMs)
    expect(missed.reduce((sum, { slots }) => sum + slots, 0)).toBe(299)
    expect(missed[0]).toEqual({ slot: start + minuteMs, slots: 290, until: start + 290 * minuteMs })
    expect(missed.at(-1)?.slot).toBe(start + 299 * minuteMs)
  })

  it('a time that comes once runs up to two hours late', () => {
    const once = schedule('1h')
    expect(catchUp(once, start + hourMs, start + 2 * hourMs).run).toBeDefined()
    expect(catchUp(once, start + hourMs, start + 4 * hourMs).skipped).toBe(start + hourMs)
    expect(catchUp(once, start + hourMs, start + 4 * hourMs).next).toBeUndefined()
  })
})
