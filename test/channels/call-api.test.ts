/** Tests how long the answers of platforms make a bot wait. */

import { expect, it } from 'vitest'
import { busyWaitMs } from '#channels/call-api.ts'

it.each([
  ['3', undefined, 3_000],
  ['', 2, 2_000],
  ['', undefined, 5_000],
  ['soon', undefined, 5_000],
  ['-1', undefined, 5_000],
  ['', 1e15, 86_400_000],
  ['99999999999', undefined, 86_400_000],
])('the header %j and the seconds %j are a pause of %d ms', (header, seconds, ms) => {
  const headers = new Headers(header ? { 'retry-after': header } : {})
  expect(busyWaitMs({ headers }, seconds)).toBe(ms)
})
