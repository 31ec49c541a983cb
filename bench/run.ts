/**
 * `npm run bench -- [P1 P3 …] [--only typing,heap] [--rounds 20] [--quick] [--write] [--from DIR] [--frozen] [--self]`: measures Talaria
 * against minimal workers on the same stack and prints which goals are met. docs/performance.md explains the metrics.
 */

import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { frozen } from './frozen.ts'
import type { Metric, Row } from './metric.ts'
import { bundleSize } from './metrics/bundle.ts'
import { programs } from './metrics/code.ts'
import { slowStream, throughput } from './metrics/concurrent-sessions.ts'
import { browserAction } from './metrics/browser.ts'
import { brandNew, warm } from './metrics/first-token.ts'
import { manyJobs } from './metrics/jobs.ts'
import { hostilePages } from './metrics/hostile-pages.ts'
import { manyServers } from './metrics/many-servers.ts'
import { mcpCall } from './metrics/mcp-call.ts'
import { idleMemory } from './metrics/memory.ts'
import { pluginHook } from './metrics/plugin-hook.ts'
import { promptSize } from './metrics/prompt.ts'
import { resumeLong } from './metrics/resume.ts'
import { referenceTurn, rowsWritten } from './metrics/rows.ts'
import { search } from './metrics/search.ts'
import { longTurn, perStep } from './metrics/tool-loop.ts'
import { webhooks } from './metrics/webhooks.ts'
import { webPage } from './metrics/page.ts'
import { workMemory } from './metrics/work-memory.ts'
import { circumstances, tableOf, writeDocs, writeJson } from './report.ts'
import { openStage, repository } from './stage.ts'

const metrics: readonly Metric[] = [
  warm,
  brandNew,
  perStep,
  longTurn,
  throughput,
  slowStream,
  resumeLong,
  search,
  bundleSize,
  rowsWritten,
  promptSize,
  idleMemory,
  programs,
  browserAction,
  manyJobs,
  webhooks,
  webPage,
  hostilePages,
  referenceTurn,
  workMemory,
  mcpCall,
  pluginHook,
  manyServers,
]

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: 'string' },
    quick: { type: 'boolean', default: false },
    write: { type: 'boolean', default: false },
    self: { type: 'boolean', default: false },
    only: { type: 'string' },
    frozen: { type: 'boolean', default: false },
    from: { type: 'string', default: repository },
  },
})
const from = values.frozen ? frozen(resolve(values.from)) : resolve(values.from)
const rounds = Number(values.rounds ?? (values.quick ? 6 : 20))
const only = values.only?.split(',')
const wanted = positionals.map((name) => name.toUpperCase())
const chosen = metrics.filter((metric) => !wanted.length || wanted.includes(metric.id))

const measure = async (): Promise<{ rows: readonly Row[]; failed: number }> => {
  const stage = await openStage({ from, self: values.self })
  const rows: Row[] = []
  let failed = 0
  try {
    for (const metric of chosen) {
      const began = performance.now()
      process.stderr.write(`${metric.id} ${metric.what} …`)
      try {
        rows.push(...(await metric.run(stage, { rounds, quick: values.quick, ...(only && { only }) })))
        process.stderr.write(` ${((performance.now() - began) / 1000).toFixed(0)} s\n`)
      } catch (error) {
        // A metric that cannot be measured does not stop the others.
        failed++
        process.stderr.write(` failed: ${error instanceof Error ? error.message : String(error)}\n`)
      }
    }
  } finally {
    await stage.end()
  }
  return { rows, failed }
}

const { rows, failed } = await measure()
const about = circumstances(rounds, values.self)
const table = tableOf(rows, about)
console.log(table)
if (!values.self) writeJson(rows, about)
if (values.write) writeDocs(table)
process.exit(failed ? 1 : 0)
