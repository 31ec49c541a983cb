/** Tests the sum in the last line of `npm test`. */

import { describe, expect, it } from 'vitest'
import { countsOf, failuresOf, lineOf } from '../../scripts/lib/counts.mjs'

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

  it('comes after the names of what failed', () => {
    const testResults = [
      { name: 'a.test.ts', status: 'failed', assertionResults: [] },
      {
        name: 'b.test.ts',
        status: 'failed',
        assertionResults: [
          { status: 'failed', ancestorTitles: ['the door'], title: 'opens' },
          { status: 'passed', ancestorTitles: ['the door'], title: 'closes' },
        ],
      },
    ]
    expect(failuresOf({ testResults })).toEqual(['FAILED a.test.ts', 'FAILED b.test.ts: the door > opens'])
  })
})
