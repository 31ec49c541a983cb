/** Records the output of the bash of this machine: `node test/scripts/record-bash.ts`. */

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { casesOf } from '../backends/virtual/corpus/cases.ts'
import { runInBash, versions } from './real-bash.ts'

const corpus = join(import.meta.dirname, '../backends/virtual/corpus')
const cases = casesOf(readFileSync(join(corpus, 'commands.txt'), 'utf8'))
const outcomes: Record<string, unknown> = {}
for (const one of cases) outcomes[one.name] = await runInBash(one)
const recording = { versions: versions(), outcomes }
writeFileSync(join(corpus, 'recording.json'), `${JSON.stringify(recording, null, 2)}\n`)
console.log(`${cases.length} cases recorded`)
