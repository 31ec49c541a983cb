// `npm run chaos [-- --kills N --simulations N --fuzz N --mutations N --schedules N --trees N --documents N --deployed-turns N --tenants N
// --seed N]`: runs simulations of the turn machine with failures, hostile requests to every route, variants of destructive
// commands, the long tests of the server, all rows of the tests of the page and of long tables,
// all conformance cases of each vendor's backend, next runs of schedules against a brute-force search, documents in the dialects of messaging platforms, properties
// with values that no run has tried, turns during deployments, tenants in several databases, an upgrade and a rollback, the crash matrix,
// and random kills of a real server, of backups and of restores. Takes minutes. The last line is the sum.
import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { parseArgs } from 'node:util'
import { countsOf, lineOf } from './lib/counts.mjs'
import { root } from './lib/root.mjs'

const { values } = parseArgs({
  options: {
    kills: { type: 'string', default: '20' },
    simulations: { type: 'string', default: '100000' },
    fuzz: { type: 'string', default: '20000' },
    mutations: { type: 'string', default: '20000' },
    schedules: { type: 'string', default: '100000' },
    trees: { type: 'string', default: '20' },
    documents: { type: 'string', default: '20000' },
    'deployed-turns': { type: 'string', default: '500' },
    tenants: { type: 'string', default: '1000' },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 1_000_000)) },
    help: { type: 'boolean', default: false },
  },
})

const simulation = 'test/agent/loop/simulation.test.ts'
const hostile = 'test/worker/fuzz.test.ts'
const nextRuns = 'test/agent/schedule/next-run.test.ts'
const subagents = 'test/durable/session/subagents/tree.test.ts'
const commands = 'test/agent/shell-policy/judge-command.test.ts'
const properties = ['test/agent', 'test/channels', 'test/tools']
// The test repeats them for each of its seeds.
const mutationSeeds = 4
const config = ['--config', 'test/chaos/vitest.config.mjs']
const folder = mkdtempSync(join(tmpdir(), 'talaria-chaos-'))

try {
  if (values.help)
    console.log(
      'npm run chaos -- [--kills 20] [--simulations 100000] [--fuzz 20000] [--mutations 20000] [--schedules 100000] [--trees 20] [--documents 20000] [--deployed-turns 500] [--tenants 1000] [--seed N]; 0 leaves a part out',
    )
  else process.exitCode = await chaos(values)
} finally {
  rmSync(folder, { recursive: true, force: true })
}

/** The files of which `npm test` runs some rows and tests: those that import what chooses them, or a suite that does. */
function listPartlyRun() {
  const files = readdirSync(join(root, 'test'), { recursive: true })
    .map((name) => name.replaceAll('\\', '/'))
    .filter((name) => name.endsWith('.ts'))
  const pattern = /\bfrom '((?:\.\.?|#test)\/[^']+)'/g
  const importsOf = (name) =>
    [...readFileSync(join(root, 'test', name), 'utf8').matchAll(pattern)].map(([, path]) =>
      path.startsWith('#test/') ? path.slice('#test/'.length) : join(dirname(name), path).replaceAll('\\', '/'),
    )
  const choosing = new Set(['support/long.ts'])
  const [tests, suites] = [[], []]
  for (const name of files) (name.endsWith('.test.ts') ? tests : suites).push([name, importsOf(name)])
  for (const [name, imports] of suites) if (imports.includes('support/long.ts')) choosing.add(name)
  return tests.filter(([, imports]) => imports.some((path) => choosing.has(path))).map(([name]) => name)
}

const partlyRun = listPartlyRun()

/** Tests that take a minute each, and all rows and tests of the others. */
function longTests() {
  const files = partlyRun.filter((name) => name.startsWith('e2e/')).map((name) => `test/${name}`)
  const args = ['--project', 'e2e', 'test/e2e/long', ...files]
  return { name: 'long tests of the server', env: { TALARIA_LONG: 'all' }, args }
}

function longTables() {
  const elsewhere = /^(?:e2e|chaos|support)\/|^backends\/(?:cloudflare|daytona|e2b|vercel)\//
  const files = partlyRun.filter((name) => !elsewhere.test(name)).map((name) => `test/${name}`)
  return { name: 'long tables', env: { TALARIA_LONG: 'all' }, args: files }
}

function treesOfSubagents(trees, seed) {
  return Number(trees)
    ? [
        {
          name: 'trees of subagents',
          env: { TREES: trees, TREE_SEED: seed },
          args: ['--project', 'workerd', subagents],
        },
      ]
    : []
}

function renderedDocuments(documents, seed) {
  return Number(documents)
    ? [
        {
          name: 'documents in dialects',
          env: { RENDERED_DOCS: documents, RENDERED_SEED: seed },
          args: ['--project', 'pure', 'test/channels/text/dialects.test.ts'],
        },
      ]
    : []
}

function turnsDuringDeployments(turns) {
  if (!Number(turns)) return []
  const args = ['--project', 'isolated', 'test/durable/session/deployments.test.ts']
  return [{ name: 'turns during deployments', env: { DEPLOYED_TURNS: turns }, args }]
}

/** Each tenant writes 200 messages. */
function fleetOfTenants(tenants) {
  if (!Number(tenants)) return []
  const env = { FLEET_TENANTS: tenants, FLEET_MESSAGES: String(200 * Number(tenants)) }
  return [{ name: 'tenants in several databases', env, args: ['--project', 'workerd', 'test/db/shards'] }]
}

/** Of a server with turns, and of backups and restores. */
async function chaos(numbers) {
  for (const [name, value] of Object.entries(numbers))
    if (typeof value === 'string' && !/^\d+$/.test(value))
      throw new Error(`--${name} has to be a number, not "${value}"`)
  const { kills, simulations, fuzz, mutations, schedules, trees, documents, seed } = numbers
  console.log(
    `seed ${seed}: ${simulations} simulations, ${fuzz} hostile requests, ${mutations} variants of commands, ${schedules} next runs, ${trees} trees of subagents, ${documents} documents for each dialect, new values for properties, ${numbers['deployed-turns']} turns during deployments, an upgrade, the crash matrix, ${kills} random kills`,
  )
  const parts = [
    ...(Number(simulations)
      ? [{ name: 'simulations', env: { SIMULATIONS: simulations }, args: ['--project', 'pure', simulation] }]
      : []),
    ...(Number(fuzz)
      ? [{ name: 'hostile requests', env: { FUZZ: fuzz, FUZZ_SEED: seed }, args: ['--project', 'workerd', hostile] }]
      : []),
    longTests(),
    longTables(),
    {
      name: 'backends of vendors',
      env: { TALARIA_CONFORMANCE: 'all', TALARIA_LONG: 'all' },
      args: [
        '--project',
        'pure',
        'test/backends/cloudflare',
        'test/backends/daytona',
        'test/backends/e2b',
        'test/backends/vercel',
      ],
    },
    {
      name: 'containers that end',
      env: { ROUNDS: kills, SEED: seed },
      args: [...config, 'test/chaos/kill-rounds.test.mjs'],
    },
    ...(Number(mutations)
      ? [
          {
            name: 'variants of commands',
            env: { TALARIA_MUTATIONS: String(Math.ceil(Number(mutations) / mutationSeeds)) },
            args: ['--project', 'pure', commands, '-t', 'variants of destructive commands'],
          },
        ]
      : []),
    ...treesOfSubagents(trees, seed),
    ...(Number(schedules)
      ? [{ name: 'next runs', env: { NEXT_RUN_CASES: schedules }, args: ['--project', 'pure', nextRuns] }]
      : []),
    ...renderedDocuments(documents, seed),
    { name: 'properties', env: { PROPERTY_SEED: seed }, args: ['--project', 'pure', ...properties] },
    ...turnsDuringDeployments(numbers['deployed-turns']),
    ...fleetOfTenants(numbers.tenants),
    { name: 'upgrade and rollback', env: {}, args: [...config, 'test/chaos/upgrade.test.mjs'] },
    { name: 'crash matrix', env: {}, args: [...config, 'test/chaos/kill.test.mjs', 'test/chaos/delivery.test.mjs'] },
    ...listKills(kills, seed),
  ]
  return runAll(parts)
}

function listKills(kills, seed) {
  if (!Number(kills)) return []
  const env = { KILLS: kills, SEED: seed }
  return [
    { name: 'random kills', env, args: [...config, 'test/chaos/random.test.mjs', 'test/chaos/copies.test.mjs'] },
    ...['telegram', 'zalo', 'messenger'].map((platform) => ({
      name: `5 000 messages of ${platform} under kills`,
      env: { ...env, PLATFORM: platform },
      args: [...config, 'test/chaos/messages.test.mjs'],
    })),
  ]
}

async function runAll(parts) {
  const total = { passed: 0, failed: 0, skipped: 0 }
  for (const part of parts) {
    const began = Date.now()
    const counts = await run(part)
    for (const name of Object.keys(total)) total[name] += counts[name]
    console.log(`${part.name}: ${lineOf(counts)}, ${Math.round((Date.now() - began) / 1_000)} s\n`)
  }
  console.log(lineOf(total))
  return total.failed === 0 ? 0 : 1
}

async function run({ name, env, args }) {
  const report = join(folder, `${name}.json`)
  const reporters = ['--reporter=verbose', '--reporter=json', `--outputFile.json=${report}`]
  const code = await ended([join(root, 'node_modules/vitest/vitest.mjs'), 'run', ...args, ...reporters], env)
  const counts = existsSync(report)
    ? countsOf(JSON.parse(readFileSync(report, 'utf8')))
    : { passed: 0, failed: 1, skipped: 0 }
  // An error outside of any test makes vitest fail while every test passes.
  if (code !== 0 && counts.failed === 0) counts.failed++
  return counts
}

function ended(args, env) {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, args, { cwd: root, env: { ...process.env, ...env }, stdio: 'inherit' })
    child.on('error', (error) => {
      console.error(error.message)
      resolve(1)
    })
    child.on('exit', (code) => resolve(code ?? 1))
  })
}
