// Sums the tests of Vitest's JSON report for the last line of `npm test`.

/** A file that cannot be loaded has no failed tests, so it counts as one. */
export function countsOf(report) {
  const counts = { passed: report.numPassedTests, failed: report.numFailedTests, skipped: 0 }
  counts.skipped = report.numPendingTests + report.numTodoTests
  for (const file of report.testResults ?? [])
    if (file.status === 'failed' && !file.assertionResults.some((test) => test.status === 'failed')) counts.failed++
  return counts
}

export const lineOf = ({ passed, failed, skipped }) => `${passed} passed, ${failed} failed, ${skipped} skipped`

/** The names of failed tests, and the files that could not be loaded, each as one line. */
export function failuresOf(report) {
  return (report.testResults ?? []).flatMap(({ name, status, assertionResults }) => {
    const failed = assertionResults.filter((test) => test.status === 'failed')
    if (status === 'failed' && !failed.length) return [`FAILED ${name}`]
    return failed.map(({ ancestorTitles, title }) => `FAILED ${name}: ${[...ancestorTitles, title].join(' > ')}`)
  })
}
