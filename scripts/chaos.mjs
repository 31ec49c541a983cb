// `npm run chaos [-- --kills N --simulations N --fuzz N --mutations N --schedules N --trees N --documents N --deployed-turns N --tenants N
// --seed N --only PART --list]`: runs simulations of the turn machine with failures, hostile requests to every route, variants of destructive
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
    only: { type: 'string' },
    list: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})

// The test repeats them for each of its seeds.
const mutationSeeds = 4
const config = ['--config', 'test/chaos/vitest.config.mjs']
const folder = mkdtempSync(join(tmpdir(), 'talaria-chaos-'))

try {
  if (values.help)
    console.log(
      'npm run chaos -- [--kills 20] [--simulations 100000] [--fuzz 20000] [--mutations 20000] [--schedules 100000] [--trees 20] [--documents 20000] [--deployed-turns 500] [--tenants 1000] [--seed N] [--only PART] [--list]; 0 leaves a part out, --list names the parts and runs none',
    )
  else process.exitCode = await chaos(values)
} catch (error) {
  console.error(error.message)
  process.exitCode = 1
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

/** Tests that take a minute each, and all rows and tests of the others. */
function longTests() {
  const files = listPartlyRun()
    .filter((name) => name.startsWith('e2e/'))
    .map((name) => `test/${name}`)
  const args = ['--project', 'e2e', 'test/e2e/long', ...files]
  return { name: 'long tests of the server', env: { TALARIA_LONG: 'all' }, args }
}

function longTables() {
  const elsewhere = /^(?:e2e|chaos|support)\/|^backends\/(?:cloudflare|daytona|e2b|vercel)\//
  const files = listPartlyRun()
    .filter((name) => !elsewhere.test(name))
    .map((name) => `test/${name}`)
  return { name: 'long tables', env: { TALARIA_LONG: 'all' }, args: files }
}

// Functions and no constants: they are called above, where constants of below have no value yet.

/** A part that a number of 0 leaves out. */
function unlessNone(count, part) {
  return Number(count) ? [part] : []
}

function pure(...args) {
  return ['--project', 'pure', ...args]
}

function workerd(...args) {
  return ['--project', 'workerd', ...args]
}

/** Of the turn machine, requests, commands and texts. */
function listSimulations({ simulations, fuzz, mutations, trees, schedules, documents, seed }) {
  const perSeed = String(Math.ceil(Number(mutations) / mutationSeeds))
  return [
    ...unlessNone(simulations, {
      name: 'simulations',
      env: { SIMULATIONS: simulations },
      args: pure('test/agent/loop/simulation.test.ts'),
    }),
    ...unlessNone(fuzz, {
      name: 'hostile requests',
      env: { FUZZ: fuzz, FUZZ_SEED: seed },
      args: workerd('test/worker/fuzz.test.ts'),
    }),
    ...unlessNone(mutations, {
      name: 'variants of commands',
      env: { TALARIA_MUTATIONS: perSeed },
      args: pure('test/agent/shell-policy/judge-command.test.ts', '-t', 'variants of destructive commands'),
    }),
    ...unlessNone(trees, {
      name: 'trees of subagents',
      env: { TREES: trees, TREE_SEED: seed },
      args: workerd('test/durable/session/subagents/tree.test.ts'),
    }),
    ...unlessNone(schedules, {
      name: 'next runs',
      env: { NEXT_RUN_CASES: schedules },
      args: pure('test/agent/schedule/next-run.test.ts'),
    }),
    ...unlessNone(documents, {
      name: 'documents in dialects',
      env: { RENDERED_DOCS: documents, RENDERED_SEED: seed },
      args: pure('test/channels/text/dialects.test.ts'),
    }),
    { name: 'properties', env: { PROPERTY_SEED: seed }, args: pure('test/agent', 'test/channels', 'test/tools') },
  ]
}

/** All tests of which `npm test` runs a part. */
function listLongTests() {
  return [
    longTests(),
    longTables(),
    {
      name: 'backends of vendors',
      env: { TALARIA_CONFORMANCE: 'all', TALARIA_LONG: 'all' },
      args: ['cloudflare', 'daytona', 'e2b', 'vercel'].map((vendor) => `test/backends/${vendor}`),
    },
  ]
}

/** Of a server with turns, of its containers, and of backups and restores. */
function listFailures({ kills, tenants, seed, 'deployed-turns': turns }) {
  const env = { KILLS: kills, SEED: seed }
  const underKills = (platform) => ({
    name: `5 000 messages of ${platform} under kills`,
    env: { ...env, PLATFORM: platform },
    args: [...config, 'test/chaos/messages.test.mjs'],
  })
  return [
    {
      name: 'containers that end',
      env: { ROUNDS: kills, SEED: seed },
      args: [...config, 'test/chaos/kill-rounds.test.mjs'],
    },
    ...unlessNone(turns, {
      name: 'turns during deployments',
      env: { DEPLOYED_TURNS: turns },
      args: workerd('test/durable/session/deployments.test.ts'),
    }),
    ...unlessNone(tenants, {
      name: 'tenants in several databases',
      // Each tenant writes 200 messages.
      env: { FLEET_TENANTS: tenants, FLEET_MESSAGES: String(200 * Number(tenants)) },
      args: workerd('test/db/shards'),
    }),
    { name: 'upgrade and rollback', env: {}, args: [...config, 'test/chaos/upgrade.test.mjs'] },
    { name: 'crash matrix', env: {}, args: [...config, 'test/chaos/kill.test.mjs', 'test/chaos/delivery.test.mjs'] },
    ...unlessNone(kills, {
      name: 'random kills',
      env,
      args: [...config, 'test/chaos/random.test.mjs', 'test/chaos/copies.test.mjs'],
    }),
    ...['telegram', 'zalo', 'messenger'].flatMap((platform) => unlessNone(kills, underKills(platform))),
  ]
}

async function chaos({ only, list, help: _help, ...numbers }) {
  for (const [name, value] of Object.entries(numbers))
    if (!/^\d+$/.test(value)) throw new Error(`--${name} has to be a number, not "${value}"`)
  const parts = [...listSimulations(numbers), ...listLongTests(), ...listFailures(numbers)]
  const chosen = only === undefined ? parts : parts.filter(({ name }) => name === only)
  if (!chosen.length)
    throw new Error(`There is no part "${only}". The parts: ${parts.map(({ name }) => name).join(', ')}`)
  console.log(`seed ${numbers.seed} (--seed)`)
  if (!list) return runAll(chosen)
  for (const { name, args } of chosen) console.log(`${name}: ${args.join(' ')}`)
  return 0
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
