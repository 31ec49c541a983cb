/** Compares the corpus in the virtual shell with a real bash; only documented cases may differ. */

import { describe, expect, it } from 'vitest'
import { firstRows } from '#test/support/long.ts'
import { inWorkspace } from '../support/workspace.ts'
import { type Case, casesOf, ENVIRONMENT, type Outcome, type Recording } from './corpus/cases.ts'
import text from './corpus/commands.txt?raw'
import known from './corpus/differences.json'
import prelude from './corpus/prelude.sh?raw'
import recorded from './corpus/recording.json'

const { outcomes } = recorded as Recording
const differences: Readonly<Record<string, string>> = known
const cases = casesOf(text)
const groups = [...new Set(cases.map(({ group }) => group))]

async function answers(wanted: readonly Case[]): Promise<[string, Outcome][]> {
  const found: [string, Outcome][] = []
  await inWorkspace({}, async ({ backend }) => {
    for (const { name, script } of wanted) {
      const options = { timeoutMs: 20_000, env: ENVIRONMENT }
      const { stdout, exitCode } = await backend.exec(`${prelude}\n${script}`, options)
      found.push([name, { stdout, exitCode: exitCode ?? -1 }])
      await backend.files.remove('/workspace')
    }
  })
  return found
}

describe('command lines that agents write', () => {
  it.each(groups)('print and exit like bash: %s', { timeout: 60_000 }, async (group) => {
    const wanted = cases.filter((one) => one.group === group)
    const alike = wanted.filter(({ name }) => differences[name] === undefined)
    const same = firstRows(8, alike, 8)
    expect(await answers(same)).toEqual(same.map(({ name }) => [name, outcomes[name]]))
  })

  it('differ only in documented cases, less than one in ten', async () => {
    const wanted = cases.filter(({ name }) => differences[name] !== undefined)
    expect(wanted.map(({ name }) => name)).toEqual(Object.keys(differences))
    expect(wanted.length).toBeLessThan(cases.length / 10)
    for (const [name, outcome] of await answers(wanted)) expect([name, outcome]).not.toEqual([name, outcomes[name]])
  })
})
