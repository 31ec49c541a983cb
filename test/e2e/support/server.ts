/**
 * Starts the server as users do, with `npm start`. It gets its own process group, so that a test can kill all of it at
 * once and start it again with the same state.
 */

import { type ChildProcess, spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { migrateLocally } from '../../../scripts/lib/migrations.mjs'
import { compileCache } from '../../support/compile-cache.mjs'
import { killGroup, runtimeOf, runtimesOf } from './processes.ts'

export const root = dirname(dirname(dirname(dirname(fileURLToPath(import.meta.url)))))
export const adminKey = 'e2e-admin-key-0123456789'
const encryptionKey = Buffer.alloc(32, 7).toString('base64')

export type Server = {
  readonly url: string
  readonly key: string
  readonly state: string
  /** Its own folder for temporary files. */
  readonly temporary: string
  /** When `npm start` printed that it is ready, in milliseconds since 1970. */
  readonly readyAt: number
  readonly log: () => string
  /** Waits until the output contains the text, including earlier output. */
  readonly printed: (text: string | RegExp, timeoutMs?: number) => Promise<void>
  /** Sends SIGKILL to npm, the scripts, wrangler and the runtime at once. */
  readonly kill: () => Promise<void>
  /** Sends SIGKILL to the runtime process. wrangler starts another. */
  readonly killRuntime: () => void
  /** Sends SIGKILL to the runtime, and to the one that wrangler starts in its place. */
  readonly killRuntimeTwice: () => Promise<void>
  /** Null: it runs. */
  readonly exitCode: () => number | null
  /** Sends SIGTERM, and SIGKILL after this time. */
  readonly stop: (timeoutMs?: number) => Promise<void>
}

export type Start = {
  readonly state?: string
  readonly port?: number
  readonly env?: Readonly<Record<string, string>>
  readonly args?: readonly string[]
  /** The script of npm. */
  readonly script?: 'start' | 'dev:sandbox'
  /** A tree of other sources. Its dependencies are those of this one, so none are installed. */
  readonly folder?: string
}

/** Creates an empty state folder on a real disk, so that crash tests prove durability. */
export function emptyState(): string {
  mkdirSync(join(root, '.wrangler'), { recursive: true })
  return mkdtempSync(join(root, '.wrangler', 'e2e-'))
}

/** A folder whose database is migrated, which takes a second of each first start. Test workers inherit the variable. */
const migrated = 'E2E_MIGRATED_STATE'
export async function migrateOnce(): Promise<() => void> {
  const state = emptyState()
  await migrateLocally(state)
  process.env[migrated] = state
  return () => deleteState(state)
}

/** Creates a state folder, with the database of `migrateOnce` if there is one. */
export function newState(): string {
  const state = emptyState()
  const from = process.env[migrated]
  if (from !== undefined) cpSync(from, state, { recursive: true })
  return state
}
export const deleteState = (state: string): void => rmSync(state, { recursive: true, force: true, maxRetries: 3 })

/** Its browser has a process group of its own, and may still write. */
function deleteTemporary(folder: string): void {
  try {
    deleteState(folder)
  } catch {
    // The system deletes it.
  }
}

const isFree = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const probe = createServer()
    probe.once('error', () => resolve(false))
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)))
  })

const given = new Set<number>()

/**
 * Finds a port that stays free until the server listens: below the ephemeral ports of the system, in a separate range for
 * each test worker, and each port once.
 */
export async function freePort(): Promise<number> {
  const range = 1_000
  const first = 20_000 + (Number(process.env['VITEST_POOL_ID'] ?? 0) % 10) * range
  for (;;) {
    const port = first + randomInt(range)
    if (given.has(port) || !(await isFree(port))) continue
    given.add(port)
    return port
  }
}

/** Passes only these variables on, so that provider keys of the developer do not reach the server. */
const environment = (extra: Start['env']): Record<string, string> => ({
  PATH: process.env['PATH'] ?? '',
  MODEL_CATALOG_URL: 'off',
  // Only the calls of the test reach the model.
  AUX_MODEL: 'none',
  HOME: process.env['HOME'] ?? '',
  ADMIN_KEY: adminKey,
  ENCRYPTION_KEY: encryptionKey,
  ...compileCache,
  ...extra,
})

export async function startServer({
  state = newState(),
  port,
  env,
  args = [],
  folder,
  script = 'start',
}: Start = {}): Promise<Server> {
  const at = port ?? (await freePort())
  const options = ['--port', String(at), '--persist-to', state, '--quiet-key', ...args]
  // What a killed one leaves there would stay for ever.
  const temporary = mkdtempSync(join(tmpdir(), 'e2e-'))
  const [program, first] =
    folder === undefined ? ['npm', ['run', script, '--']] : [process.execPath, ['scripts/start.mjs']]
  const child = spawn(program, [...first, ...options], {
    cwd: folder ?? root,
    env: { ...environment(env), TMPDIR: temporary },
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const output = collect(child)
  const group = child.pid ?? 0
  // A test that fails half-way must not leave a server behind. The number of one that has ended may belong to others.
  const killAtExit = () => {
    killGroup(group, 'SIGKILL')
    deleteTemporary(temporary)
  }
  process.once('exit', killAtExit)
  const untilGone = async (timeoutMs?: number): Promise<boolean> => {
    const isGone = await waitForExit(group, timeoutMs)
    if (isGone) {
      process.off('exit', killAtExit)
      deleteTemporary(temporary)
    }
    return isGone
  }
  const printed = (text: string | RegExp, timeoutMs = 30_000) => waitForOutput(child, output, text, timeoutMs)
  const kill = async () => {
    killGroup(group, 'SIGKILL')
    await untilGone()
  }
  try {
    // Another entry may have to be built first. A start itself gives up after 120 s, and says why.
    await printed(/^Talaria is ready on .*\n/m, script === 'start' ? 150_000 : 180_000)
  } catch (error) {
    await kill()
    throw error
  }
  return {
    url: `http://127.0.0.1:${at}`,
    key: adminKey,
    state,
    temporary,
    readyAt: Date.now(),
    log: () => output.text,
    printed,
    kill,
    killRuntimeTwice: async () => {
      const before = runtimesOf(group)
      process.kill(runtimeOf(group, state), 'SIGKILL')
      let next: number | undefined
      for (; next === undefined; await delay(5)) next = runtimesOf(group).find((pid) => !before.includes(pid))
      process.kill(next, 'SIGKILL')
    },
    exitCode: () => child.exitCode,
    killRuntime: () => process.kill(runtimeOf(group, state), 'SIGKILL'),
    stop: async (timeoutMs = 8_000) => {
      killGroup(group, 'SIGTERM')
      if (!(await untilGone(timeoutMs))) await kill()
    },
  }
}

function collect(child: ChildProcess): { text: string } {
  const output = { text: '' }
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (part) => (output.text += String(part)))
  return output
}

async function waitForOutput(child: ChildProcess, output: { text: string }, text: string | RegExp, timeoutMs: number) {
  const found = () => (typeof text === 'string' ? output.text.includes(text) : text.test(output.text))
  const deadline = Date.now() + timeoutMs
  while (!found()) {
    // wrangler does not exit: it waits for a change of the source.
    if (output.text.includes('Build failed')) throw new Error(output.text)
    if (child.exitCode !== null) throw new Error(`npm start ended with ${child.exitCode}:\n${output.text}`)
    if (Date.now() > deadline) throw new Error(`${String(text)} was not printed in ${timeoutMs} ms:\n${output.text}`)
    await delay(20)
  }
}

async function waitForExit(group: number, timeoutMs = 10_000): Promise<boolean> {
  for (const deadline = Date.now() + timeoutMs; Date.now() < deadline; await delay(20))
    if (!killGroup(group, 0)) return true
  return false
}
