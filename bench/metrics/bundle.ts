/** P9: measures the size of the deployed bundle, its start, and the heap of an isolate that has answered once. */

import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { call } from '../client.ts'
import { openInspector } from '../inspector.ts'
import { atMost, pairs, times, type Metric, type Row } from '../metric.ts'
import { cpuOf, freePort, runtimeOf } from '../process.ts'
import { median } from '../stats.ts'
import { repository, type Contender, type Stage } from '../stage.ts'

/** hono, zod, drizzle, openai, anthropic and sandbox together, minified and compressed (KiB). */
const cardPackages = 390

const wrangler = (from: string, ...flags: readonly string[]): void => {
  const node = join(repository, 'node_modules/.bin/node')
  const env = { ...process.env, WRANGLER_SEND_METRICS: 'false', CI: '1' }
  execFileSync(node, [join(repository, 'node_modules/wrangler/bin/wrangler.js'), ...flags], {
    cwd: from,
    env,
    stdio: ['ignore', 'ignore', 'inherit'],
  })
}

/** Hundreds of parts are smaller. */
const minShownKib = 20

/** The core in KiB, and the parts that are loaded on demand, as `npm run check` measures them. */
const sizesOf = (
  from: string,
): { readonly core: number; readonly uploadedMb: number; readonly parts: readonly string[] } => {
  const node = join(repository, 'node_modules/.bin/node')
  const text = execFileSync(node, ['scripts/check-bundle.mjs'], { cwd: from, encoding: 'utf8' })
  const parts = [...text.matchAll(/^(\S+), loaded on demand: (\d+) KiB/gm)]
    .map(([, name = '', size]) => ({ name, size: Number(size) }))
    .filter(({ size }) => size >= minShownKib)
  return {
    core: Number(/^core ([\d.]+) KiB/m.exec(text)?.[1] ?? NaN),
    uploadedMb: Number(/^uploaded modules ([\d.]+) MB/m.exec(text)?.[1] ?? NaN),
    parts: parts.toSorted((a, b) => b.size - a.size).map(({ name, size }) => `${name} ${size}`),
  }
}

type Profile = {
  readonly nodes: readonly { readonly id: number; readonly callFrame: { readonly functionName: string } }[]
  readonly samples: readonly number[]
  readonly timeDeltas: readonly number[]
}

/** Sampled time in which the worker's code ran: neither idle nor the start of the runtime itself. */
const activeMs = (profile: Profile): number => {
  const names = new Map(profile.nodes.map((node) => [node.id, node.callFrame.functionName]))
  const busy = profile.samples.map((id) => !['(idle)', '(root)', '(program)'].includes(names.get(id) ?? ''))
  return profile.timeDeltas.reduce((sum, micros, n) => sum + (busy[n] ? micros / 1000 : 0), 0)
}

const startupMs = (from: string, folder: string): number => {
  const profile = join(folder, 'startup.cpuprofile')
  wrangler(from, 'check', 'startup', '--outfile', profile)
  return activeMs(JSON.parse(readFileSync(profile, 'utf8')) as Profile)
}

/** MB in use after a collection, in an isolate that has answered one request of a person. */
const heapAfterStart = async (stage: Stage): Promise<number> => {
  const port = await freePort()
  const { target, running } = await stage.inspected(port)
  const inspector = openInspector(port)
  // An isolate reads messages of the inspector only while it works.
  const awake = setInterval(() => void call(target, 'GET', '/health').catch(() => undefined), wakeEveryMs)
  try {
    await call(target, 'GET', '/api/settings')
    return (await inspector.usedHeap()) / 1e6
  } finally {
    clearInterval(awake)
    inspector.close()
    await running.kill()
  }
}

const wakeEveryMs = 300

/** CPU of the runtime in ms from its start to its first answer. */
const cpuToAnswer = async ({ running }: Contender): Promise<number> => {
  const spent = cpuOf(runtimeOf(running.pid))
  await running.kill()
  return spent
}

/** The CPU that the worker adds to a runtime, whose proxies and simulators cost the same under an empty worker. */
const cpuAtStart = async (stage: Stage, rounds: number): Promise<Row> => {
  const found = await pairs(
    rounds,
    async () => cpuToAnswer(await stage.another()),
    async () => cpuToAnswer(await stage.empty()),
  )
  const [ours, floor] = [median(found.map((pair) => pair.ours)), median(found.map((pair) => pair.floor))]
  return {
    metric: 'P9',
    what: 'CPU to the first answer, above an empty worker',
    unit: 'ms',
    goal: atMost(220),
    samples: found.map((pair) => pair.ours - pair.floor),
    note: `${ours} − ${floor} ms of the runtime`,
  }
}

export const bundleSize: Metric = {
  id: 'P9',
  what: 'size and start of the bundle',
  run: async (stage, { quick }) => {
    const { from } = stage
    const folder = mkdtempSync('/dev/shm/talaria-bench-bundle-')
    try {
      const { core: size, uploadedMb, parts } = sizesOf(from)
      const startup = Array.from({ length: quick ? 1 : 5 }, () => startupMs(from, folder))
      const rows: Row[] = [
        {
          metric: 'P9',
          what: 'minified gzip size of the core ÷ the packages it is made of',
          unit: '×',
          goal: atMost(1.15),
          samples: [size / cardPackages],
          ours: [size],
          floor: [cardPackages],
          absoluteUnit: 'KiB',
          note: parts.join(', '),
        },
        {
          metric: 'P9',
          what: 'heap after a collection, two requests answered',
          unit: 'MB',
          goal: atMost(14),
          samples: await times(quick ? 1 : 3, () => heapAfterStart(stage)),
        },
        await cpuAtStart(stage, quick ? 3 : 9),
        { metric: 'P9', what: 'modules uploaded', unit: 'MB', goal: atMost(6), samples: [uploadedMb] },
        { metric: 'P9', what: 'active time at start', unit: 'ms', goal: atMost(35), samples: startup },
      ]
      return rows
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  },
}
