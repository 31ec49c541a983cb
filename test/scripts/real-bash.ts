/** Runs a case in the bash of this machine. Its output shows the temporary directory as /workspace. */

import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Case, ENVIRONMENT, type Outcome } from '../backends/virtual/corpus/cases.ts'
import { runProgram } from '../support/start-program.mjs'

const prelude = readFileSync(join(import.meta.dirname, '../backends/virtual/corpus/prelude.sh'), 'utf8')

const PROGRAMS = ['bash', 'awk', 'sed', 'grep', 'find', 'sort', 'jq', 'git', 'tar', 'diff']

/** First line of each program's version, or '' when it is missing. */
export function versions(): Record<string, string> {
  const ask = (name: string): string => {
    const flag = name === 'awk' ? '-W' : '--version'
    const { stdout, stderr } = spawnSync(name, flag === '-W' ? ['-W', 'version'] : [flag], { encoding: 'utf8' })
    return `${stdout ?? ''}${stderr ?? ''}`.split('\n')[0] ?? ''
  }
  return Object.fromEntries(PROGRAMS.map((name) => [name, ask(name)]))
}

export async function runInBash({ script }: Case): Promise<Outcome> {
  const home = realpathSync(mkdtempSync(join(tmpdir(), 'corpus-')))
  try {
    const { output, code } = await runProgram('bash', ['-c', `${prelude}\n${script}`], {
      cwd: home,
      timeout: 20_000,
      env: { PATH: '/usr/bin:/bin', HOME: home, ...ENVIRONMENT },
    })
    return { stdout: output.replaceAll(home, '/workspace'), exitCode: code ?? -1 }
  } finally {
    rmSync(home, { recursive: true, force: true })
  }
}
