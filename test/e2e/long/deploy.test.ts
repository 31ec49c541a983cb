/** Tests `npm run deploy` with accounts that lack something, that failed before, or that another machine has set up. */

import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import {
  api,
  createAccount,
  deploy,
  deployed,
  deployThroughKills,
  describeAccount,
  facts,
  folder,
  startOver,
  uploads,
} from '../support/deployment.ts'

/** Migrations and assets are many calls of the same kind. */
const isAmongFirst = (_call: string, before: number) => before < 2 || before % 10 === 0

describe('npm run deploy', { timeout: 600_000 }, () => {
  it('creates databases of histories, which all get the tables, and adds more later', async () => {
    await createAccount()
    const { code, output } = await deploy(['--shards', '2'])
    expect(code, output).toBe(0)
    expect(output).toMatch(/database\s+talaria created, 2 databases of histories, 2 added/)
    const names = () => [...api.databases.values()].map(({ name }) => name).toSorted()
    expect(names()).toEqual(['talaria', 'talaria-history-1', 'talaria-history-2'])
    const bound = () =>
      deployed()
        .metadata.bindings!.filter(({ type }) => type === 'd1')
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

  it.each<Parameters<typeof deployThroughKills>[1]>([
    { ends: 'group', isDone: false, at: isAmongFirst },
    { ends: 'command', isDone: true, at: isAmongFirst },
  ])(
    'killed at every call ($ends, done: $isDone), ends as one that nothing disturbs',
    { timeout: 1_800_000 },
    async (killed) => {
      await createAccount()
      const undisturbed = await deploy(['--shards', '1'])
      expect(undisturbed.code, undisturbed.output).toBe(0)
      const expected = describeAccount()
      await startOver()
      const { code, output, killedAt, vars } = await deployThroughKills(['--shards', '1'], killed)
      console.log(`${killed.ends}, ${killed.isDone ? 'done' : 'not done'}: killed at ${killedAt.size} calls`)
      expect(code, output).toBe(0)
      expect(killedAt.size).toBeGreaterThan(20)
      expect(describeAccount()).toEqual(expected)
      expect([...vars]).toEqual([readFileSync(join(folder, '.deploy.vars'), 'utf8')])
      expect([...vars][0]).toContain(deployed().secrets['ENCRYPTION_KEY'])
      expect(readdirSync(folder).filter((name) => name.includes('deploy'))).toEqual(['.deploy.vars', 'deploy.json'])
    },
  )

  it('serves a domain of the account under another name, and no address of workers.dev', async () => {
    await createAccount()
    const { code, output } = await deploy(['--name', 'agent', '--url', 'https://agent.example.com'])
    expect(code, output).toBe(0)
    expect(output).toMatch(/Talaria is ready on https:\/\/agent\.example\.com\n/)
    expect([...api.workers.keys()]).toEqual(['agent'])
    expect([...api.domains]).toEqual([['agent.example.com', 'agent']])
    expect(api.databases.map(({ name }) => name)).toEqual(['agent'])
    expect([...api.buckets.keys()]).toEqual(['agent-blobs'])
    expect(api.subdomain, 'a name below workers.dev').toBeUndefined()
    const url = { type: 'plain_text', name: 'PUBLIC_URL', text: 'https://agent.example.com' }
    expect(deployed('agent').metadata.bindings).toContainEqual(url)
    const again = await deploy(['--dry-run'])
    expect(again.output).toMatch(/address\s+https:\/\/agent\.example\.com\n/)
  })

  it('runs once at a time in a folder', async () => {
    await createAccount()
    const [one, other] = await Promise.all([deploy(), deploy()])
    const [done, refused] = one.code === 0 ? [one, other] : [other, one]
    expect([done.code, refused.code], one.output + other.output).toEqual([0, 1])
    expect(refused.output).toMatch(/Another deployment is running from \S+ \(process \d+\)|has begun from/)
    expect(readFileSync(join(folder, '.deploy.vars'), 'utf8')).toContain(deployed().secrets['ENCRYPTION_KEY'])
  })

  it('does not take another account than the one it knows', async () => {
    await createAccount({ subdomain: 'ada' })
    writeFileSync(join(folder, 'deploy.json'), '{"account":"ffff"}')
    const { code, output } = await deploy()
    expect(code).toBe(1)
    expect(output).toMatch(/This login has no account ffff\. It has:\n {2}01234567/)
    const refused = await deploy([], { env: { CLOUDFLARE_API_TOKEN: 'another-token' } })
    expect(refused.code).toBe(1)
    expect(refused.output).toMatch(
      /refuses the login \(Authentication error \[code: 10000\]\)\. Run `npx wrangler login`/,
    )
    expect(api.changes).toEqual([])
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

  it('creates a bucket for the backups of each night when they have a passphrase', async () => {
    await createAccount()
    writeFileSync(join(folder, '.deploy.vars'), 'BACKUP_PASSPHRASE=correct horse battery\n')
    const { code, output } = await deploy()
    expect(code, output).toBe(0)
    expect(output).toMatch(/talaria-blobs created, talaria-backups created/)
    const { metadata, secrets } = deployed()
    expect(secrets['BACKUP_PASSPHRASE']).toBe('correct horse battery')
    expect(JSON.stringify(metadata)).toMatch(/"BACKUPS"[^}]*talaria-backups|talaria-backups[^}]*"BACKUPS"/)
  })
})
