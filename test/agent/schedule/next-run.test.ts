/**
 * Compares next runs with a brute-force search, around the changes of the clock of every zone in five years.
 * `NEXT_RUN_CASES=N` runs N cases instead of the usual sample.
 */

import { describe, expect, it } from 'vitest'
import { nextRun } from '#agent/schedule/next-run.ts'
import { parseSchedule } from '#agent/schedule/parse-schedule.ts'
import { listClockChanges, listWallMinutes, type OracleFields, oracleNextRun } from './oracle.ts'

const dayMs = 86_400_000
const cases = Number(process.env['NEXT_RUN_CASES'] ?? 500)
const [from, to] = [Date.UTC(2024, 0, 1), Date.UTC(2029, 0, 1)]
const windowDays = 4

/** Small and repeatable (mulberry32). */
function randomFrom(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below
  }
}

/** Zones of equal clocks are tested once, so that the sample has as many different changes as possible. */
function listPlaces(isFull: boolean): readonly { readonly zone: string; readonly from: number }[] {
  const zones = ['UTC', ...Intl.supportedValuesOf('timeZone')]
  const sample = isFull
    ? zones
    : [
        'Europe/Berlin',
        'America/New_York',
        'Australia/Lord_Howe',
        'Africa/Casablanca',
        'America/Santiago',
        'Asia/Beirut',
        'Pacific/Chatham',
        'Antarctica/Troll',
        'Asia/Kathmandu',
        'UTC',
      ]
  return sample.flatMap((zone) => {
    const changes = listClockChanges(zone, from, to)
    const starts = changes.length ? changes.map((change) => change - (windowDays / 2) * dayMs) : [Date.UTC(2026, 1, 27)]
    return starts.map((start) => ({ zone, from: Math.floor(start / 900_000) * 900_000 }))
  })
}

function randomFields(random: (below: number) => number, firstDay: number): OracleFields & { readonly text: string } {
  const pick = (count: number, min: number, max: number) =>
    [...new Set(Array.from({ length: count }, () => min + random(max - min + 1)))].toSorted((a, b) => a - b)
  const minutes = random(3)
    ? pick(1 + random(3), 0, 59)
    : Array.from({ length: 60 }, (_, n) => n).filter((n) => n % 15 === 0)
  // The clock changes at night.
  const hours = random(3) ? pick(1 + random(3), 0, 4) : pick(1 + random(4), 0, 23)
  const days = random(4) ? ('*' as const) : pick(1 + random(3), firstDay, Math.min(31, firstDay + 4))
  const months = random(6) ? ('*' as const) : pick(6, 1, 12)
  const weekdays = random(3) ? ('*' as const) : pick(1 + random(3), 0, 6)
  const write = (list: readonly number[] | '*') => (list === '*' ? '*' : list.join(','))
  const text = [minutes, hours, days, months, weekdays].map(write).join(' ')
  return { minutes, hours, days, months, weekdays, text }
}

// The whole number of cases takes minutes.
const timeoutMs = 1_200_000

describe('the next run of a cron expression', { timeout: timeoutMs }, () => {
  it(`equals the first matching minute of a brute-force search (${cases} cases)`, () => {
    const random = randomFrom(18)
    const places = listPlaces(process.env['NEXT_RUN_CASES'] !== undefined)
    const perPlace = Math.ceil(cases / places.length)
    const wrong: string[] = []
    let found = 0
    for (const place of places) {
      const walls = listWallMinutes(place.zone, place.from, windowDays)
      const end = place.from + windowDays * dayMs
      const firstDay = new Date(place.from).getUTCDate()
      for (let n = 0; n < perPlace; n++) {
        const fields = randomFields(random, firstDay)
        const after = place.from + random(windowDays * dayMs)
        const parsed = parseSchedule(fields.text, { now: after, zone: place.zone })
        // A day that these months do not have.
        if (!parsed.ok) continue
        const expected = oracleNextRun(fields, walls, after)
        const actual = nextRun(parsed.schedule, after)
        const isRight = expected === undefined ? actual === undefined || actual >= end : actual === expected
        if (expected !== undefined) found += 1
        if (!isRight) wrong.push(`${place.zone} ${fields.text} after ${after}: ${actual}, not ${expected}`)
      }
    }
    expect(wrong.slice(0, 10)).toEqual([])
    expect(found).toBeGreaterThan(cases / 3)
  })
})
