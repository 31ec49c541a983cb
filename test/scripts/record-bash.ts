/** Records the output of the bash of this machine: `node test/scripts/record-bash.ts`. */

import { readFileSync, writeFileSync } from 'node:fs'
import { casesOf } from '../backends/virtual/corpus/cases.ts'
import { runInBash, versions } from './real-bash.ts'

const corpus = new URL('../backends/virtual/corpus/', import.meta.url)
const cases = casesOf(readFileSync(new URL('commands.txt', corpus), 'utf8'))
const outcomes = Object.fromEntries(cases.map((one) => [one.name, runInBash(one)]))
const recording = { versions: versions(), outcomes }
writeFileSync(new URL('recording.json', corpus), `${JSON.stringify(recording, null, 2)}\n`)
console.log(`${cases.length} cases recorded`)
