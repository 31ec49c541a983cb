/** Tests `npm run deploy` against a stand-in of Cloudflare's API. Nothing leaves this machine. */

import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { tmpdir } from 'node:os'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { apiToken, CloudflareApi } from './support/cloudflare-api.ts'
import { root } from './support/server.ts'

let folder: string
let api: CloudflareApi
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'talaria-deploy-'))))
afterEach(() => {
  api.close()
  rmSync(folder, { recursive: true })
  rmSync(join(root, `wrangler.deploy.${basename(folder)}.json`), { force: true })
})

type Account = ConstructorParameters<typeof CloudflareApi>[0]
const createAccount = async (account: Account = {}) => (api = await new CloudflareApi(account).start())

/** Runs the command as a person without a terminal does. */
async function deploy(args: readonly string[] = [], env: Record<string, string> = {}) {
  const child = spawn('npm', ['run', 'deploy', '--', '--folder', folder, ...args], {
    cwd: root,
    env: {
      PATH: process.env['PATH'] ?? '',
      HOME: folder,
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

const facts = () => JSON.parse(readFileSync(join(folder, 'deploy.json'), 'utf8'))
const uploads = () => api.changes.filter((change) => !change.includes('plan-check'))
const deployed = (name = 'talaria') => api.workers.get(name)!

describe('npm run deploy', { timeout: 600_000 }, () => {
  it('deploys to an empty account with one command, and again without changing what exists', async () => {
    await createAccount()
    api.healthFailures = 2
    const { code, output } = await deploy()
    expect(code, output).toBe(0)
    expect(output.trim().split('\n').length, output).toBeLessThan(20)
    expect(output).toMatch(/Talaria is ready on https:\/\/talaria\.talaria-01234567\.workers\.dev\nopen: \S+#in=/)
    const { metadata, modules, secrets } = deployed()
    expect(modules.has(metadata.main_module!)).toBe(true)
    expect(secrets['ADMIN_KEY']!.length).toBeGreaterThanOrEqual(16)
    expect(Buffer.from(secrets['ENCRYPTION_KEY']!, 'base64')).toHaveLength(32)
    expect(api.workers.size, 'the worker of the plan check is deleted').toBe(1)
    expect(listTables()).toEqual(expect.arrayContaining(['tenant', 'session', 'page', 'd1_migrations']))
    expect(statSync(join(folder, '.deploy.vars')).mode & 0o777).toBe(0o600)
    expect(output).not.toContain(secrets['ENCRYPTION_KEY'])

    writeFileSync(join(folder, '.deploy.vars'), 'OPENAI_API_KEY=sk-1\n', { flag: 'a' })
    api.changes.length = 0
    const again = await deploy()
    expect(again.code, again.output).toBe(0)
    expect(uploads().filter((change) => /database|buckets|workers\/subdomain/.test(change))).toEqual([])
    expect(deployed().secrets).toEqual({ ...secrets, OPENAI_API_KEY: 'sk-1' })
    expect(again.output).toMatch(/schema\s+up to date/)
  })

  it('creates databases of histories, which all get the tables, and adds more later', async () => {
    await createAccount()
    const { code, output } = await deploy(['--shards', '2'])
    expect(code, output).toBe(0)
    expect(output).toMatch(/database\s+talaria created, 2 databases of histories, 2 added/)
    const names = () => [...api.databases.values()].map(({ name }) => name).toSorted()
    expect(names()).toEqual(['talaria', 'talaria-history-1', 'talaria-history-2'])
    const bound = () =>
      deployed()
        .metadata.bindings.filter(({ type }) => type === 'd1')
        .map(({ name }) => name)
    expect(bound()).toEqual(['DB', 'HISTORY_1', 'HISTORY_2'])
    const more = await deploy(['--shards', '3'])
    expect(more.code, more.output).toBe(0)
    expect(more.output).toMatch(/3 databases of histories, 1 added/)
    expect(bound()).toEqual(['DB', 'HISTORY_1', 'HISTORY_2', 'HISTORY_3'])
    const fewer = await deploy(['--shards', '1'])
    expect(fewer.code).toBe(1)
    expect(fewer.output).toMatch(/has 3 databases of histories, and none can be removed/)
  })

  it('prints the plan in a dry run and changes nothing', async () => {
    await createAccount()
    const { code, output } = await deploy(['--dry-run', '--location', 'weur'])
    expect(code, output).toBe(0)
    expect(output).toMatch(/database\s+talaria would be created/)
    expect(output).toMatch(/place\s+Western Europe/)
    expect(api.changes).toEqual([])
    expect(existsSync(join(folder, 'deploy.json'))).toBe(false)
    expect(existsSync(join(folder, '.deploy.vars'))).toBe(false)
  })

  it('says that Workers Paid is missing before it changes anything, and deploys what the free plan can run', async () => {
    await createAccount({ plan: 'free', subdomain: 'ada' })
    const refused = await deploy()
    expect(refused.code).toBe(1)
    expect(refused.output).toMatch(
      /no Workers Paid plan[\s\S]*100328[\s\S]*npm run deploy -- --free[\s\S]*Nothing was changed/,
    )
    expect(uploads()).toEqual([])
    const { code, output } = await deploy(['--free'])
    expect(code, output).toBe(0)
    expect(deployed().metadata.limits).toBeUndefined()
    expect(deployed().metadata.bindings!.map(({ name }) => name)).not.toContain('LOADER')
    expect(facts().plan).toBe('free')
  })

  it('goes on after a failure without doing a step twice', async () => {
    await createAccount({ subdomain: 'ada' })
    api.failOnce = /^PUT \/workers\/scripts\/talaria$/
    const failed = await deploy()
    expect(failed.code).toBe(1)
    expect(failed.output).toMatch(
      /worker failed: "wrangler deploy" failed:[\s\S]*Done[^\n]*database, files, keys, schema/,
    )
    const keys = readFileSync(join(folder, '.deploy.vars'), 'utf8')
    const { code, output } = await deploy()
    expect(code, output).toBe(0)
    expect(api.databases).toHaveLength(1)
    expect(readFileSync(join(folder, '.deploy.vars'), 'utf8')).toBe(keys)
  })

  it('names R2 where the account has not enabled it, and does without', async () => {
    await createAccount({ hasR2: false, subdomain: 'ada' })
    const { code, output } = await deploy()
    expect(code).toBe(1)
    expect(output).toMatch(/not enabled R2: https:\/\/dash\.cloudflare\.com\/[\s\S]*--without-r2/)
    const without = await deploy(['--without-r2', '--dry-run'])
    expect(without.code, without.output).toBe(0)
    expect(without.output).toMatch(/files\s+none/)
  })

  it('takes over a deployment of another machine: its data, its place and its keys', async () => {
    await createAccount({ subdomain: 'ada' })
    const secrets = { ADMIN_KEY: 'admin-key-of-before', ENCRYPTION_KEY: 'encryption-key-of-before' }
    api.addDeployment('eu', secrets)
    const { code, output } = await deploy()
    expect(code, output).toBe(0)
    expect(output).toMatch(/ADMIN_KEY, ENCRYPTION_KEY stay as the worker has them/)
    expect(deployed().secrets).toEqual(secrets)
    expect(facts()).toMatchObject({ jurisdiction: 'eu', database: { id: api.databases[0]!.uuid } })
    expect(deployed().metadata.bindings).toContainEqual({ type: 'plain_text', name: 'JURISDICTION', text: 'eu' })
    const moved = await deploy(['--jurisdiction', 'us', '--dry-run'])
    expect(moved.code).toBe(1)
    expect(moved.output).toMatch(/is in eu, which cannot be changed/)
  })

  it('says how to sign in without a login', async () => {
    await createAccount()
    const { code, output } = await deploy([], { CLOUDFLARE_API_TOKEN: '' })
    expect(code).toBe(1)
    expect(output).toMatch(/There is no login\. Run `npx wrangler login`/)
  })
})

const listTables = () =>
  api.databases[0]!.file.prepare("SELECT name FROM sqlite_master WHERE type = 'table'")
    .all()
    .map(({ name }) => name)
