/** Compares the expected output of the virtual shell's corpus with the bash of this machine, if it has the same version. */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { firstRows } from '../support/long.ts'
import { casesOf, type Recording } from '../backends/virtual/corpus/cases.ts'
import { runInBash, versions } from './real-bash.ts'

const corpus = join(import.meta.dirname, '../backends/virtual/corpus')
const read = (name: string): string => readFileSync(join(corpus, name), 'utf8')
const recording = JSON.parse(read('recording.json')) as Recording
const cases = casesOf(read('commands.txt'))
const installedVersions = versions()
const differingPrograms = Object.keys(recording.versions).filter(
  (name) => installedVersions[name] !== recording.versions[name],
)
/** A recording changes rarely: `npm test` compares the shell itself and the commands of one other group. */
const groups = [...new Set(['shell', ...cases.map(({ group }) => group)])]

describe('the recorded answers of bash', () => {
  it('exist for every case, and for no other', () => {
    expect(Object.keys(recording.outcomes)).toEqual(cases.map(({ name }) => name))
    expect(cases.length).toBeGreaterThanOrEqual(300)
  })

  // The output of other versions may differ, so it is not compared.
  const skipped = differingPrograms.length > 0 ? ` (skipped: other versions of ${differingPrograms.join(', ')})` : ''
  it.skipIf(differingPrograms.length > 0).each(firstRows(1, groups, 1))(
    `equal those of this machine: %s${skipped}`,
    { timeout: 60_000 },
    async (group) => {
      const tried = cases.filter((one) => one.group === group)
      const outcomes: unknown[] = []
      for (const one of tried) outcomes.push([one.name, await runInBash(one)])
      expect(outcomes).toEqual(tried.map(({ name }) => [name, recording.outcomes[name]]))
    },
  )
})
