/** Tests which dates and times a text gives, however they are written, and that nothing else counts. */

import { expect, it } from 'vitest'
import { openTypedTimes } from '#agent/policy/approval/typed-times.ts'

it.each([
  ['from January 11th to January 15th 2025', ['2025-01-11', '2025-01-15'], ['2025-01-12', '2024-01-11']],
  ['on the 3rd of May, 2026', ['2026-05-03'], ['2026-05-30']],
  ['am 24. Dezember 2026 um 18 Uhr', ['2026-12-24', '2026-12-24T18:00'], ['2026-12-24T17:00']],
  ['am 5.1.2027, 9:30', ['2027-01-05 09:30'], ['2027-05-01 09:30', '2027-01-05 09:31']],
  ['2024-05-19 at 12:00 for one hour', ['2024-05-19 12:00', '2024-05-19 13:00'], ['2024-05-19 14:00']],
  ['a 90-minute call at 7 PM on 2024-05-19', ['2024-05-19T19:00:00', '2024-05-19T20:30'], ['2024-05-19T07:00']],
  ['2024-05-19 at noon, half an hour', ['2024-05-19 12:00Z', '2024-05-19 12:30'], ['2024-05-19 12:15']],
  ['2024-05-19, 12:15 am', ['2024-05-19 00:15'], ['2024-05-19 12:15']],
  ['2024-05-19 at 23:30 for two hours', ['2024-05-19 23:30'], ['2024-05-19 25:30', '2024-05-20 01:30']],
  // A year, a time or a month that is none.
  ['May 19 at 10:00', [], ['2024-05-19 10:00']],
  ['2024-05-19, costs 12.50', ['2024-05-19'], ['2024-05-19 12:50']],
  ['maybe 12 people of 2024', [], ['2024-05-12']],
  ['10:00', [], ['10:00', '2024-05-19 10:00']],
])('%j', (text, given, others) => {
  const isTyped = openTypedTimes(text)
  expect(given.filter((value) => !isTyped(value))).toEqual([])
  expect(others.filter(isTyped)).toEqual([])
})
