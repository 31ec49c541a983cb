/** Runs `npm run deploy` against a stand-in of Cloudflare's API, with a folder and an account for each test. */

import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { basename, join } from 'node:path'
import { tmpdir } from 'node:os'
import { afterEach, beforeEach } from 'vitest'
import { apiToken, CloudflareApi } from './cloudflare-api.ts'
import { compileCache, root } from './server.ts'

/** The folder in which the command keeps what it learned. */
export let folder: string
export let api: CloudflareApi
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'talaria-deploy-'))))
afterEach(() => {
  api.close()
  rmSync(folder, { recursive: true })
  rmSync(join(root, `wrangler.deploy.${basename(folder)}.json`), { force: true })
})

type Account = ConstructorParameters<typeof CloudflareApi>[0]
export const createAccount = async (account: Account = {}) => (api = await new CloudflareApi(account).start())

/** Runs the command as a person without a terminal does. */
export async function deploy(args: readonly string[] = [], env: Record<string, string> = {}) {
  const child = spawn('npm', ['run', 'deploy', '--', '--folder', folder, ...args], {
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
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (part) => (output += String(part)))
  const code = await new Promise<number | null>((done) => child.on('close', done))
  if (api.unknown.length) throw new Error(`The stand-in has no route for ${api.unknown.join(', ')}`)
  return { code, output }
}

export const facts = () => JSON.parse(readFileSync(join(folder, 'deploy.json'), 'utf8'))
export const uploads = () => api.changes.filter((change) => !change.includes('plan-check'))
export const deployed = (name = 'talaria') => api.workers.get(name)!
