/** Tests `npm run deploy` against a stand-in of Cloudflare's API. Nothing leaves this machine. */

import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { itInTurn } from '#test/support/long.ts'
import { apiToken } from './support/cloudflare-api.ts'
import {
  api,
  createAccount,
  deploy,
  deployed,
  deployThroughKills,
  facts,
  folder,
  uploads,
} from './support/deployment.ts'

/** A terminal for the questions. */
const hasScript = (() => {
  try {
    return execFileSync('script', ['--version']).toString().includes('util-linux')
  } catch {
    return false
  }
})()

describe('npm run deploy', { timeout: 600_000 }, () => {
  it('deploys to an empty account with one command', async () => {
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
  })

  itInTurn('deploys again with a key and a bucket more, without changing what exists', async () => {
    await createAccount()
    expect((await deploy()).code).toBe(0)
    const { secrets } = deployed()
    const more = 'OPENAI_API_KEY=sk-1\nBACKUP_PASSPHRASE=correct horse battery\n'
    writeFileSync(join(folder, '.deploy.vars'), more, { flag: 'a' })
    api.changes.length = 0
    const again = await deploy()
    expect(again.code, again.output).toBe(0)
    expect(uploads().filter((change) => /database|workers\/subdomain/.test(change))).toEqual([])
    // The bucket of backups, which come with their passphrase.
    expect(uploads().filter((change) => change.includes('buckets'))).toHaveLength(1)
    expect(again.output).toMatch(/talaria-backups created/)
    expect(JSON.stringify(deployed().metadata)).toContain('talaria-backups')
    const BACKUP_PASSPHRASE = 'correct horse battery'
    expect(deployed().secrets).toEqual({ ...secrets, OPENAI_API_KEY: 'sk-1', BACKUP_PASSPHRASE })
    expect(again.output).toMatch(/schema\s+up to date/)
  })

  it('prints the plan in a dry run, with the login of wrangler, and changes nothing', async () => {
    await createAccount()
    const login = join(folder, '.config/.wrangler/config')
    mkdirSync(login, { recursive: true })
    writeFileSync(
      join(login, 'default.toml'),
      `oauth_token = "${apiToken}"\nexpiration_time = "2999-01-01T00:00:00.000Z"\n`,
    )
    const { code, output } = await deploy(['--dry-run', '--location', 'weur'], { env: { CLOUDFLARE_API_TOKEN: '' } })
    expect(code, output).toBe(0)
    expect(output).toMatch(/database\s+talaria would be created/)
    expect(output).toMatch(/place\s+Western Europe/)
    expect(api.changes).toEqual([])
    expect(existsSync(join(folder, 'deploy.json'))).toBe(false)
    expect(existsSync(join(folder, '.deploy.vars'))).toBe(false)
  })

  itInTurn('goes on where it was killed, with the first keys and one of each', async () => {
    await createAccount()
    const { code, output, killedAt, vars } = await deployThroughKills([], {
      ends: 'command',
      isDone: true,
      at: (call, before) => before === 0 && ['POST /d1/database', 'PUT /workers/scripts/talaria'].includes(call),
    })
    expect(code, output).toBe(0)
    expect([...killedAt]).toEqual(['POST /d1/database 0', 'PUT /workers/scripts/talaria 0'])
    expect([api.databases.length, [...api.buckets.keys()]]).toEqual([1, ['talaria-blobs']])
    expect([...api.workers.keys()]).toEqual(['talaria'])
    expect([...vars].map((text) => text.includes(deployed().secrets['ENCRYPTION_KEY'] ?? 'none'))).toEqual([true])
  })

  describe.skipIf(!hasScript)('in a terminal', () => {
    const [enter, interrupt, endOfInput] = ['\r', '\u0003', '\u0004']
    const asksJurisdiction = /jurisdiction\? eu \(the European Union\), [^:]*empty for none: /
    const asksLocation = /location\? weur \(Western Europe\), [^:]*empty for none: /
    const placed = /place {5}\S/
    const run = (...typed: readonly (readonly [RegExp, string])[]) => deploy([], { typed })

    itInTurn('asks for a jurisdiction until it gets one of the list, and for no location then', async () => {
      await createAccount()
      const { output } = await run(
        [asksJurisdiction, `mars${enter}`],
        [asksJurisdiction, `toString${enter}`],
        [asksJurisdiction, `eu${enter}`],
        [placed, interrupt],
      )
      expect(output).toMatch(/place +only the European Union/)
      expect(output).not.toContain('location?')
      expect(facts()).toMatchObject({ jurisdiction: 'eu' })
    })

    itInTurn(
      'asks each question once, and ends with Ctrl+D and Ctrl+C at one, without a change or a lock',
      async () => {
        await createAccount()
        const ends = [
          [[asksJurisdiction, enter] as const, [asksLocation, endOfInput] as const],
          [[asksLocation, `Europe${enter}`] as const, [asksLocation, interrupt] as const],
        ]
        for (const typed of ends) {
          const { code, output } = await run(...typed)
          expect(code, output).toBe(1)
          expect(output).toMatch(/place failed: The question was not answered\.\s+Nothing was changed/)
          expect(uploads()).toEqual([])
          expect(existsSync(join(folder, '.deploy.lock'))).toBe(false)
        }
        const answered = await run([asksLocation, `weur${enter}`], [placed, interrupt])
        expect(answered.output).toMatch(/place +Western Europe/)
        expect(answered.output).not.toContain('jurisdiction?')
        expect(facts()).toMatchObject({ jurisdiction: null, location: 'weur' })
        const again = await run([placed, interrupt])
        expect(again.output).toMatch(/place +Western Europe/)
        expect(again.output).not.toContain('?')
      },
    )
  })

  itInTurn('says how to sign in without a login', async () => {
    await createAccount()
    const { code, output } = await deploy([], { env: { CLOUDFLARE_API_TOKEN: '' } })
    expect(code).toBe(1)
    expect(output).toMatch(/There is no login\. Run `npx wrangler login`/)
  })
})

const listTables = () =>
  api.databases[0]!.file.prepare("SELECT name FROM sqlite_master WHERE type = 'table'")
    .all()
    .map(({ name }) => name)
