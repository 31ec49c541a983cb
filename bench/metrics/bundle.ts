/** P9: measures the compressed size of the deployed bundle and its start time. */

import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { atMost, type Metric, type Row } from '../metric.ts'
import { repository } from '../stage.ts'

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

/** The core in KiB, and the parts that are loaded on demand, as `npm run check` measures them. */
const sizesOf = (from: string): { readonly core: number; readonly parts: readonly string[] } => {
  const node = join(repository, 'node_modules/.bin/node')
  const text = execFileSync(node, ['scripts/check-bundle.mjs'], { cwd: from, encoding: 'utf8' })
  const parts = [...text.matchAll(/^(\S+), loaded on demand: (\d+) KiB/gm)]
  return {
    core: Number(/^core ([\d.]+) KiB/m.exec(text)?.[1] ?? NaN),
    parts: parts.map(([, name, size]) => `${name} ${size}`),
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

export const bundleSize: Metric = {
  id: 'P9',
  what: 'size and start of the bundle',
  run: async ({ from }, { quick }) => {
    const folder = mkdtempSync('/dev/shm/talaria-bench-bundle-')
    try {
      const { core: size, parts } = sizesOf(from)
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
        { metric: 'P9', what: 'active time at start', unit: 'ms', goal: atMost(35), samples: startup },
      ]
      return rows
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  },
}
