// The last line of `npm test`, from vitest's JSON report and the verdict of `npm run check`.

/** A file that cannot be loaded has no tests to count as failed: it counts as one itself. */
export function countsOf(report) {
  const counts = { passed: report.numPassedTests, failed: report.numFailedTests, skipped: 0 }
  counts.skipped = report.numPendingTests + report.numTodoTests
  for (const file of report.testResults ?? [])
    if (file.status === 'failed' && !file.assertionResults.some((test) => test.status === 'failed')) counts.failed++
  return counts
}

export const lineOf = ({ passed, failed, skipped }) => `${passed} passed, ${failed} failed, ${skipped} skipped`
