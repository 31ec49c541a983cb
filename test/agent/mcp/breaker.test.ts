/** Tests when a server that failed is called again. */

import { expect, it } from 'vitest'
import { addFailure, admitCall, closedBreaker, stateOf } from '../../../src/agent/mcp/breaker.ts'

const fail = (...times: readonly number[]) => times.reduce((breaker, at) => addFailure(breaker, at), closedBreaker)

it('opens after three failures in a row, and not when a minute lies between them', () => {
  expect(stateOf(fail(0, 1, 2), 3)).toBe('open')
  expect(stateOf(fail(0, 50_000, 110_001), 110_002)).toBe('closed')
})

it('opens for a server that lets every call wait for minutes', () => {
  const hung = [300_000, 610_000, 920_000].reduce((breaker, at) => addFailure(breaker, at, 300_000), closedBreaker)
  expect(stateOf(hung, 920_001)).toBe('open')
})

it('lets one call try after a minute', () => {
  const breaker = fail(0, 1, 2)
  expect(admitCall(breaker, 30_000)).toBeUndefined()
  expect(stateOf(breaker, 70_000)).toBe('half_open')
  const trying = admitCall(breaker, 70_000)
  expect(trying && admitCall(trying, 70_001)).toBeUndefined()
  expect(trying && stateOf(addFailure(trying, 70_002), 100_000)).toBe('open')
})
