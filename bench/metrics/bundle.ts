/** P9: measures the compressed size of the deployed bundle and its start time. */

import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
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

/** Sizes of the uploaded files, in KiB. */
const gzipped = (folder: string): { readonly name: string; readonly size: number }[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => statSync(join(folder, name)).isFile() && !/(\.map|README\.md)$/.test(name))
    .map((name) => ({ name, size: gzipSync(readFileSync(join(folder, name))).length / 1024 }))
    .toSorted((a, b) => b.size - a.size)

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
      wrangler(from, 'deploy', '--dry-run', '--minify', '--outdir', join(folder, 'out'))
      const files = gzipped(join(folder, 'out'))
      // The other files are loaded only when a tool needs them.
      const size = files.find(({ name }) => name === 'index.js')?.size ?? NaN
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
          note: files.map((file) => `${file.name.replace(/^[0-9a-f]{40}-/, '')} ${file.size.toFixed(0)}`).join(', '),
        },
        { metric: 'P9', what: 'active time at start', unit: 'ms', goal: atMost(35), samples: startup },
      ]
      return rows
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  },
}
