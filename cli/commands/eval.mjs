/** `talaria eval`: runs cases against the agent, side by side for several models, and compares with the last run. */

import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { createClient } from '../client.mjs'
import { requireConfig } from '../config.mjs'
import { loadCases } from '../eval/load-cases.mjs'
import { reporters } from '../eval/reports.mjs'
import { runCase, stopAll } from '../eval/run-case.mjs'
import { exits, UsageError } from '../exits.mjs'
import { note, print, requireWritable } from '../output.mjs'

const defaultRecord = '.talaria-eval.json'

export async function run({ options, words: paths }) {
  const reporter = options.json ? 'json' : (options.reporter ?? 'terminal')
  const cases = await selectCases(paths, options)
  const client = createClient(requireConfig())
  const { record = defaultRecord, out } = options
  // Before anything runs: results that cannot be written would be lost.
  for (const file of [record, out ?? record]) requireWritable(file)
  const before = readRecord(record)
  const planned = cases.flatMap((one) => modelsOf(one, options).map((model) => ({ one, model })))
  const interrupt = () => void stopAll(client).finally(() => process.exit(130))
  process.once('SIGINT', interrupt)
  const results = await runAll(planned, { client, options, before }).finally(() => process.off('SIGINT', interrupt))
  writeRecord(record, before, results)
  const passed = results.filter((one) => one.passed).length
  const text = reporters[reporter](results)
  if (out === undefined) print(text)
  else writeFileSync(out, `${text}\n`)
  if (out !== undefined || reporter !== 'terminal') note(`${passed} of ${results.length} passed.`)
  return passed === results.length ? exits.done : exits.failed
}

async function selectCases(paths, { filter = '' }) {
  const cases = (await loadCases(paths.length ? paths : ['.'])).filter(({ name }) => name.includes(filter))
  if (!cases.length) throw new UsageError(`No case has "${filter}" in its name.`)
  return cases
}

/** `-m` may be given several times, and replaces the models of the cases. */
const modelsOf = ({ models }, { model }) => (model?.length ? model : models?.length ? models : [undefined])

const count = (text, name, otherwise) => {
  if (text === undefined) return otherwise
  const value = Number(text)
  if (!Number.isInteger(value) || value < 1) throw new UsageError(`--${name} needs a whole number from 1.`)
  return value
}

async function runAll(planned, { client, options, before }) {
  const results = []
  const open = planned.map((plan, at) => ({ ...plan, at }))
  const work = async () => {
    for (let next = open.shift(); next; next = open.shift()) results[next.at] = await runRepeated(next)
  }
  const runRepeated = async ({ one, model }) => {
    const runs = []
    const repeat = count(options.repeat, 'repeat', one.repeat ?? 1)
    for (let n = 0; n < repeat; n++) runs.push(await runCase(client, one, model))
    const isGood = ({ failures, warnings }) => !failures.length && !(options.strict && warnings.length)
    const rate = runs.filter(isGood).length / runs.length
    const key = keyOf(one.name, model)
    const last = Object.hasOwn(before, key) && { before: before[key] }
    return { name: one.name, model, passed: rate >= (one.least ?? 1), rate, runs, ...last }
  }
  await Promise.all(Array.from({ length: count(options.concurrency, 'concurrency', 4) }, work))
  return results
}

const keyOf = (name, model) => (model ? `${name} · ${model}` : name)
const toRecord = ({ name, model, passed, rate }) => [keyOf(name, model), { passed, rate }]

function writeRecord(file, before, results) {
  const all = Object.fromEntries([...Object.entries(before), ...results.map(toRecord)])
  writeFileSync(file, `${JSON.stringify(all, null, 2)}\n`)
}

function readRecord(file) {
  if (!existsSync(file)) return {}
  const text = readFileSync(file, 'utf8')
  try {
    return Object.fromEntries(Object.entries(JSON.parse(text)).filter(([, last]) => typeof last?.passed === 'boolean'))
  } catch {
    throw new UsageError(`${file} is no record of a run. Delete it, or name another one with --record.`)
  }
}
