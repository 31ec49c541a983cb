/** Tests the pauses before a page connects again. */

import { expect, it } from 'vitest'
import { reconnectDelayMs } from '../../web/model/reconnect-delay.ts'

const spread = (isLost: boolean, failures: number) =>
  [0, 0.5, 1].map((random) => reconnectDelayMs(isLost, failures, random))

it('pages that lose their connection at the same time come back within ten seconds, at different times', () => {
  expect(spread(true, 0)).toEqual([0, 5_000, 10_000])
})

it('an attempt that fails is repeated soon, and then less and less often', () => {
  expect(spread(false, 0)).toEqual([375, 500, 625])
  expect(spread(false, 3)).toEqual([3_000, 4_000, 5_000])
  expect(Math.max(...spread(false, 20))).toBe(18_750)
})
