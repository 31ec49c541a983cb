/** Runs `npm run deploy` against a stand-in of Cloudflare's API, with a folder and an account for each test. */

import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { basename, join } from 'node:path'
import { tmpdir } from 'node:os'
import { afterEach, beforeEach } from 'vitest'
import { apiToken, CloudflareApi } from './cloudflare-api.ts'
import { compileCache } from '../../support/compile-cache.mjs'
import { root } from './server.ts'

/** The folder in which the command keeps what it learned. */
export let folder: string
export let api: CloudflareApi
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'talaria-deploy-'))))
afterEach(() => {
  api.close()
  // A process that was killed may still be writing.
  rmSync(folder, { recursive: true, force: true, maxRetries: 10 })
  rmSync(join(root, `wrangler.deploy.${basename(folder)}.json`), { force: true })
})

type Account = ConstructorParameters<typeof CloudflareApi>[0]
export const createAccount = async (account: Account = {}) => (api = await new CloudflareApi(account).start())

/** An empty account and folder. */
export async function startOver(): Promise<void> {
  api.close()
  for (const name of readdirSync(folder)) rmSync(join(folder, name), { recursive: true })
  await createAccount()
}

type Run = {
  readonly env?: Record<string, string>
  /** Gets the process before it does anything. It leads a group of its own. */
  readonly onStart?: (child: ChildProcess) => void
  /** Runs it in a terminal, and types each text when the one before it is shown. */
  readonly typed?: readonly (readonly [shown: RegExp, keys: string])[]
}

/** Runs the command as a person without a terminal does, or with one. */
export async function deploy(args: readonly string[] = [], { env = {}, onStart, typed }: Run = {}) {
  const command = ['npm', 'run', 'deploy', '--', '--folder', folder, ...args]
  const [program = '', ...parts] = typed ? ['script', '-qec', command.join(' '), '/dev/null'] : command
  const child = spawn(program, parts, {
    cwd: root,
    env: {
      PATH: process.env['PATH'] ?? '',
      HOME: folder,
      ...compileCache,
      CLOUDFLARE_API_BASE_URL: `${api.url}/client/v4`,
      CLOUDFLARE_API_TOKEN: apiToken,
      WORKERS_DEV: api.url,
      NODE_OPTIONS: `--import ${join(root, 'test/e2e/support/workers-dev.mjs')}`,
      ...env,
    },
    stdio: [typed ? 'pipe' : 'ignore', 'pipe', 'pipe'],
    detached: true,
  })
  onStart?.(child)
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (part) => (output += String(part)))
  if (typed) typeInto(child, typed)
  const code = await new Promise<number | null>((done) => child.on('close', done))
  if (api.unknown.length) throw new Error(`The stand-in has no route for ${api.unknown.join(', ')}`)
  return { code, output }
}

function typeInto(child: ChildProcess, typed: NonNullable<Run['typed']>): void {
  const left = [...typed]
  let unread = ''
  child.stdout?.on('data', (part) => {
    unread += String(part)
    const next = left[0]
    if (!next?.[0].test(unread)) return
    left.shift()
    unread = ''
    child.stdin?.write(next[1])
  })
}

type Killed = {
  /** All processes of the run end, as with a machine, or the command alone. */
  readonly ends: 'group' | 'command'
  /** Whether the call at which the run is killed was done. */
  readonly isDone: boolean
  /** Chooses the calls. `before`: how many with the same name the run has made. */
  readonly at?: (call: string, before: number) => boolean
}

/**
 * Runs the command until it ends by itself. Each run is killed at its first call that none before was killed at. Returns
 * these calls, and the contents that `.deploy.vars` had.
 */
export async function deployThroughKills(args: readonly string[], { ends, isDone, at = () => true }: Killed) {
  const [killedAt, vars] = [new Set<string>(), new Set<string>()]
  for (;;) {
    const counts = new Map<string, number>()
    let isKilled = false
    const { code, output } = await deploy(args, {
      onStart: (child) => {
        api.beforeCall = (name) => {
          const before = counts.get(name) ?? 0
          const call = `${name} ${before}`
          counts.set(name, before + 1)
          // A process that lives on although its command was killed: its calls arrive.
          if (isKilled || killedAt.has(call) || !at(name, before)) return undefined
          killedAt.add(call)
          isKilled = true
          process.kill(ends === 'group' ? -child.pid! : commandOf(), 'SIGKILL')
          return isDone ? 'lose' : 'drop'
        }
      },
    })
    if (existsSync(varsFile())) vars.add(readFileSync(varsFile(), 'utf8'))
    if (!isKilled) return { code, output, killedAt, vars }
  }
}

/** The command holds the lock of its folder. Before it has one, it makes no call. */
const commandOf = () => Number(readFileSync(join(folder, '.deploy.lock'), 'utf8'))
const varsFile = () => join(folder, '.deploy.vars')

/** What an account has, without ids: two accounts with the same have the same deployment. */
export const describeAccount = () => ({
  databases: api.databases
    .map(({ name, file }) => {
      const tables = file.prepare("SELECT name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite_%' ORDER BY name")
      const migrations = file.prepare('SELECT name FROM d1_migrations ORDER BY id')
      return { name, tables: tables.all(), migrations: migrations.all() }
    })
    .toSorted((a, b) => a.name.localeCompare(b.name)),
  buckets: [...api.buckets].toSorted(([a], [b]) => a.localeCompare(b)),
  workers: [...api.workers].map(([name, { modules, secrets, metadata }]) => {
    const bindings = metadata.bindings?.map(({ type, name: binding }) => `${type} ${binding}`)
    return { name, modules: modules.size, secrets: Object.keys(secrets).toSorted(), bindings: bindings?.toSorted() }
  }),
  subdomain: api.subdomain,
})

export const facts = () => JSON.parse(readFileSync(join(folder, 'deploy.json'), 'utf8'))
export const uploads = () => api.changes.filter((change) => !change.includes('plan-check'))
export const deployed = (name = 'talaria') => api.workers.get(name)!
