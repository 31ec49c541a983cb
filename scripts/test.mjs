// `npm test [-- filter]`: runs all checks and tests. The last line is the sum; the checks count as one test.
import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { countsOf, lineOf } from './lib/counts.mjs'
import { root } from './lib/root.mjs'

const folder = mkdtempSync(join(tmpdir(), 'talaria-test-'))
const reportFile = join(folder, 'report.json')

try {
  process.exitCode = await testAll(process.argv.slice(2))
} finally {
  rmSync(folder, { recursive: true, force: true })
}

async function testAll(filter) {
  const built = await run(process.execPath, [join(root, 'scripts/build-isolate.mjs')])
  const checked = await run('npm', ['run', '--silent', 'check'])
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${reportFile}`]
  const vitest = join(root, 'node_modules/vitest/vitest.mjs')
  const tested = await run(process.execPath, [vitest, 'run', ...reporters, ...filter])
  const counts = existsSync(reportFile)
    ? countsOf(JSON.parse(readFileSync(reportFile, 'utf8')))
    : { passed: 0, failed: 1, skipped: 0 }
  counts[built === 0 && checked === 0 ? 'passed' : 'failed']++
  // An error outside of any test makes vitest fail while every test passes.
  if (tested !== 0 && counts.failed === 0) counts.failed++
  console.log(lineOf(counts))
  return counts.failed === 0 ? 0 : 1
}

function run(command, args) {
  return new Promise((resolve) => {
    const child = spawn(command, args, { cwd: root, stdio: 'inherit', shell: process.platform === 'win32' })
    child.on('error', (error) => {
      console.error(error.message)
      resolve(1)
    })
    child.on('exit', (code) => resolve(code ?? 1))
  })
}
