/** Tests the sum in the last line of `npm test`. */

import { describe, expect, it } from 'vitest'
import { countsOf, lineOf } from '../../scripts/lib/counts.mjs'

const report = (fields: object) => ({
  numPassedTests: 5,
  numFailedTests: 0,
  numPendingTests: 1,
  numTodoTests: 1,
  testResults: [],
  ...fields,
})

describe('the last line of npm test', () => {
  it('is the sum', () => {
    expect(lineOf(countsOf(report({})))).toBe('5 passed, 0 failed, 2 skipped')
  })

  it('counts a file that could not be loaded', () => {
    const testResults = [
      { status: 'failed', assertionResults: [] },
      { status: 'failed', assertionResults: [{ status: 'failed' }] },
      { status: 'passed', assertionResults: [{ status: 'passed' }] },
    ]
    expect(countsOf(report({ numFailedTests: 1, testResults })).failed).toBe(2)
  })
})
