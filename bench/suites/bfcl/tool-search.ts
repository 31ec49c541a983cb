/**
 * `node bench/suites/bfcl/tool-search.ts FOLDER [--misses]`: puts all functions of BFCL's live cases into one catalogue, and
 * measures how often the functions of a question are among the first five that the tool search finds for it.
 */

import { parseArgs } from 'node:util'
import { createRanking } from '#tools/search/rank-tools.ts'
import { readCases } from './cases.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { misses: { type: 'boolean', default: false } },
})
const [folder] = positionals
if (!folder) throw new Error('usage: node bench/suites/bfcl/tool-search.ts FOLDER [--misses]')
const first = 5
const cases = readCases(folder).filter(({ id }) => id.startsWith('live'))

/** Functions of one name are one tool: the first one that has it. */
const catalogue = new Map(
  cases
    .flatMap(({ tools }) => tools)
    .toReversed()
    .map(
      ({ name, description, parameters }) =>
        [name, { name, source: '', description, inputSchema: parameters }] as const,
    ),
)
const tools = [...catalogue.values()]
const started = performance.now()
const ranking = createRanking(tools)
const builtMs = performance.now() - started

let [found, wanted, whole] = [0, 0, 0]
/** Weights and words were chosen with the questions at even places only. */
const halves = [
  { found: 0, wanted: 0 },
  { found: 0, wanted: 0 },
]
const times: number[] = []
for (const [at, { id, question, calls }] of cases.entries()) {
  const names = new Set(calls.map(({ name }) => name))
  const from = performance.now()
  const best = ranking.search(question, first)
  times.push(performance.now() - from)
  const hits = [...names].filter((name) => best.includes(name)).length
  found += hits / names.size
  wanted++
  const half = halves[at % 2]
  if (half) Object.assign(half, { found: half.found + hits / names.size, wanted: half.wanted + 1 })
  whole += Number(hits === names.size)
  if (values.misses && hits < names.size)
    console.log(
      `${id}: ${question.replaceAll('\n', ' ').slice(0, 200)}\n  ${[...names].join(', ')} | ${best.join(', ')}`,
    )
}
const percent = (share: number, of = wanted) => `${((share * 100) / Math.max(1, of)).toFixed(1)} %`
const slowest = times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.95)] ?? 0
console.log(
  `recall@${first}: ${percent(found)}, all functions of a question: ${percent(whole)}; ${wanted} questions, ${tools.length} tools`,
)
console.log(`at even and at odd places: ${halves.map((half) => percent(half.found, half.wanted)).join(', ')}`)
console.log(`catalogue in ${builtMs.toFixed(0)} ms, a search in ${slowest.toFixed(1)} ms at the 95th percentile`)
