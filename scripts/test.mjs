// `npm test [-- filter]`: runs all checks and tests. The last line is the sum; the checks count as one test. ROW_SEED chooses
// rows of long tables and tests that take turns. It comes from the commit, so that a commit has the same result everywhere.
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { countsOf, failuresOf, lineOf } from './lib/counts.mjs'
import { fastTemporary } from './lib/fast-temporary.mjs'
import { root } from './lib/root.mjs'

const folder = mkdtempSync(join(fastTemporary(), 'talaria-test-'))
// Everything that the tests leave behind is removed with it.
process.env.TMPDIR = folder
const reportFile = join(folder, 'report.json')

try {
  process.exitCode = await testAll(process.argv.slice(2))
} finally {
  rmSync(folder, { recursive: true, force: true })
}

/** The number of commits: those that follow each other choose other tests. 1 outside of a repository. */
function seedOfCommit() {
  const { stdout } = spawnSync('git', ['rev-list', '--count', 'HEAD'], { cwd: root, encoding: 'utf8' })
  return stdout?.trim() || '1'
}

async function testAll(filter) {
  process.env.ROW_SEED ??= seedOfCommit()
  console.log(`rows of long tables and tests in turn by seed ${process.env.ROW_SEED} (ROW_SEED)`)
  const built = await run(process.execPath, [join(root, 'scripts/build-isolate.mjs')])
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${reportFile}`]
  const vitest = join(root, 'node_modules/vitest/vitest.mjs')
  // Beside each other, because tests wait as much as they compute.
  const [checked, tested] = await Promise.all([
    output('npm', ['run', '--silent', 'check']),
    run(process.execPath, [vitest, 'run', ...reporters, ...filter]),
  ])
  process.stdout.write(checked.text)
  const report = existsSync(reportFile) && JSON.parse(readFileSync(reportFile, 'utf8'))
  const counts = report ? countsOf(report) : { passed: 0, failed: 1, skipped: 0 }
  // Again behind the output of the checks, because a service may keep only the end of a log.
  for (const line of report ? failuresOf(report) : []) console.log(line.replace(`${root}/`, ''))
  if (checked.code !== 0) console.log('FAILED npm run check')
  counts[built === 0 && checked.code === 0 ? 'passed' : 'failed']++
  // An error outside of any test makes vitest fail while every test passes.
  if (tested !== 0 && counts.failed === 0) counts.failed++
  console.log(lineOf(counts))
  return counts.failed === 0 ? 0 : 1
}

/** Resolves with the exit code. */
function run(command, args) {
  return new Promise((resolve) => start(command, args, 'inherit', resolve))
}

/** Resolves with the exit code and all that was printed. */
function output(command, args) {
  return new Promise((resolve) => {
    let text = ''
    const child = start(command, args, ['ignore', 'pipe', 'pipe'], (code) => resolve({ code, text }))
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (part) => (text += String(part)))
  })
}

function start(command, args, stdio, onEnd) {
  const child = spawn(command, args, { cwd: root, stdio, shell: process.platform === 'win32' })
  child.on('error', (error) => {
    console.error(error.message)
    onEnd(1)
  })
  child.on('close', (code) => onEnd(code ?? 1))
  return child
}
