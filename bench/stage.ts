/** Starts the contenders on demand, once each: model server, floors and Talaria. */

import { execFileSync } from 'node:child_process'
import { createRequire } from 'node:module'
import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Target } from './client.ts'
import { ready, startModel, type Model } from './model.ts'
import { freePort, start, type Running } from './process.ts'

export const repository = join(import.meta.dirname, '..')

export type Contender = {
  readonly target: Target
  readonly running: Running
  readonly persist: string
}

export type Stage = {
  /** The checkout that is measured. */
  readonly from: string
  readonly model: Model
  /** The bare proxy and the looping object are two routes of one worker. */
  readonly proxy: () => Promise<Target>
  readonly floor: () => Promise<Contender>
  readonly ours: () => Promise<Contender>
  /** Kills the contender and starts it again with the same data. */
  readonly restart: (which: 'ours' | 'floor') => Promise<Contender>
  /** A second Talaria with its own data; the caller stops it. */
  readonly another: (persist?: string) => Promise<Contender>
  /** The configuration of Talaria with a worker that does nothing; the caller stops it. */
  readonly empty: () => Promise<Contender>
  /** A Talaria that counts billed rows at `/api/bench/rows`; the caller stops it. */
  readonly counting: (persist?: string) => Promise<Contender>
  /** A Talaria whose inspector listens on this port. */
  readonly inspected: (inspectorPort: number) => Promise<Contender>
  /** A Talaria with other addresses for public names (`WEB_HOST_MAP`). */
  readonly visiting: (hostMap: Readonly<Record<string, string>>) => Promise<Contender>
  /** A Talaria with variables of its own, such as the address of a platform (`SLACK_API_BASE`) or `MCP_SERVERS`. */
  readonly connected: (env: Readonly<Record<string, string>>, name?: string) => Promise<Contender>
  readonly end: () => Promise<void>
}

export type StageOptions = {
  /** A checkout of Talaria to measure. */
  readonly from: string
  /** Measures the floor against itself, which shows the resolution of the benchmark. */
  readonly self: boolean
}

export const adminKey = 'bench-admin-key-0123456789'

/** The same variables as in scripts/lib/wrangler.mjs, so that wrangler costs both contenders the same. */
const common = {
  X_LOCAL_OBSERVABILITY: 'false',
  X_LOCAL_EXPLORER: 'false',
  CLOUDFLARE_CF_FETCH_ENABLED: 'false',
  WRANGLER_SEND_METRICS: 'false',
  WRANGLER_SEND_ERROR_REPORTS: 'false',
  WRANGLER_HIDE_BANNER: 'true',
  CI: '1',
  NO_COLOR: '1',
}

type Launch = (persist: string, model: Model) => Promise<Contender>

/** The same flags as in scripts/start.mjs. */
const floorFlags = [
  'dev',
  '--config',
  'bench/floors/wrangler.toml',
  '--log-level',
  'warn',
  '--show-interactive-dev-session=false',
]

const launchFloor: Launch = async (persist, model) => {
  const port = await freePort()
  const flags = ['--port', String(port), '--ip', '127.0.0.1', '--inspector-port', String(await freePort())]
  const running = start(
    [
      process.execPath,
      '--no-warnings',
      createRequire(import.meta.url).resolve('wrangler'),
      ...floorFlags,
      ...flags,
      '--persist-to',
      persist,
      '--var',
      `MODEL_URL:${model.url}`,
    ],
    { cwd: repository, env: common },
  )
  const target: Target = { name: 'floor', origin: `http://127.0.0.1:${port}`, prefix: '/loop' }
  await ready(target, running, '/health')
  return { target, running, persist }
}

const launchOurs =
  (from: string, wranglerFlags: readonly string[] = [], env: Readonly<Record<string, string>> = {}): Launch =>
  async (persist, model) => {
    const port = await freePort()
    const flags = ['--port', String(port), '--ip', '127.0.0.1', '--persist-to', persist, '--quiet-key']
    const running = start(['npm', 'start', '--', ...flags, ...wranglerFlags], {
      cwd: from,
      env: {
        ...common,
        OPENAI_API_KEY: 'bench',
        OPENAI_BASE_URL: model.url,
        MODEL: 'openai/bench',
        ADMIN_KEY: adminKey,
        ...env,
      },
    })
    const target: Target = { name: 'talaria', origin: `http://127.0.0.1:${port}`, prefix: '', key: adminKey }
    await ready(target, running, '/health')
    return { target, running, persist }
  }

export const openStage = async ({ from, self }: StageOptions): Promise<Stage> => {
  const model = await startModel()
  const launchers = { floor: launchFloor, ours: self ? launchFloor : launchOurs(from) }
  const folders = new Map<string, string>()
  const contenders = new Map<string, Promise<Contender>>()
  const folderFor = (which: string): string => {
    const folder = folders.get(which) ?? mkdtempSync(`/dev/shm/talaria-bench-${which}-`)
    folders.set(which, folder)
    return folder
  }
  /** Launches a contender that `end` stops. */
  const keep = (which: string, launch: Launch): Promise<Contender> => {
    const contender = launch(folderFor(which), model)
    contenders.set(which, contender)
    return contender
  }
  const get = (which: 'ours' | 'floor'): Promise<Contender> => contenders.get(which) ?? keep(which, launchers[which])
  return {
    from,
    model,
    proxy: async () => ({ ...(await get('floor')).target, name: 'proxy', prefix: '/proxy' }),
    floor: () => get('floor'),
    ours: () => get('ours'),
    restart: async (which) => {
      await (await get(which)).running.kill()
      contenders.delete(which)
      return get(which)
    },
    another: (persist) => launchers.ours(persist ?? folderFor('another'), model),
    empty: () => launchOurs(from, ['--script', 'bench/empty/index.js'])(folderFor('empty'), model),
    counting: (persist) => {
      execFileSync(process.execPath, [join(from, 'scripts/build-worker.mjs'), 'bench-rows'], { cwd: from })
      return launchOurs(from, ['--script', 'dist/bench-rows/index.js'])(persist ?? folderFor('counting'), model)
    },
    inspected: (inspectorPort) => keep('inspected', launchOurs(from, ['--inspector-port', String(inspectorPort)])),
    visiting: (hostMap) => keep('visiting', launchOurs(from, [], { WEB_HOST_MAP: JSON.stringify(hostMap) })),
    connected: (env, name = 'connected') => keep(name, launchOurs(from, [], env)),
    end: async () => {
      for (const contender of contenders.values())
        await contender.then(
          ({ running }) => running.kill(),
          () => undefined,
        )
      await model.running.kill()
      for (const folder of folders.values()) rmSync(folder, { recursive: true, force: true })
    },
  }
}
