/** Tests the backups of each night: they go on after an interruption, take only what has changed, and end when they are old. */

import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { env } from 'cloudflare:workers'
import { replaceClock } from '#durable/platform/clock.ts'
import { describeNights, runNightly } from '#worker/backup/nightly.ts'
import { calls, model, says } from '../support/scripted-model.ts'
import { applyMigrations, call, newSession, newTenant, request } from './client.ts'
import { send } from './listen.ts'

const bucket = (env as unknown as { BLOBS: R2Bucket }).BLOBS
const given = { ...(env as unknown as Env), BACKUP_PASSPHRASE: 'correct horse battery', BACKUP_DAYS: '3' }

beforeAll(async () => {
  await applyMigrations()
  // Tenants of files before this one, some of them with keys that are gone.
  const { DB } = env as unknown as { DB: D1Database }
  await DB.prepare("DELETE FROM tenant WHERE id <> 'default'").run()
  await call('PATCH', '/api/settings', { body: { approvals: { mode: 'off' } } })
})
afterEach(() => replaceClock())

const dayMs = 86_400_000
const hourMs = 3_600_000
const noon = Date.UTC(2026, 10, 20, 12)

/** Sets the time that the backup sees. */
function at(now: number): void {
  replaceClock({ now: () => now, wait: () => Promise.resolve(), schedule: () => () => undefined })
}

const limits = { runMs: 8 * 60_000, parts: 2_000 }
const keys = async (prefix: string) => (await bucket.list({ prefix })).objects.map(({ key }) => key)
const namesOf = async (tenant: string, night: string) => {
  const text = await (await bucket.get(`backups/${tenant}/night-${night}.jsonl`))!.text()
  const lines = text.split('\n').filter(Boolean)
  return lines.map((line) => JSON.parse(line) as { name: string; file?: string; names?: string[] })
}

/** When history knows of a change of files. */
async function changedAt(id: string | undefined): Promise<unknown> {
  const { DB } = env as unknown as { DB: D1Database }
  const row = await DB.prepare('SELECT state FROM session WHERE id = ?').bind(id).first<{ state: string }>()
  return (JSON.parse(row?.state ?? '{}') as { filesChangedAt?: number }).filesChangedAt
}

async function sessionWithFiles(): Promise<string> {
  const command = 'echo one > a.txt'
  const scripted = model([calls({ name: 'terminal', input: { command } }), says('done')])
  const { id } = await newSession({ model: scripted.id })
  await send(id, 'ask')
  return id
}

describe('a backup of the night', () => {
  it('is off without a passphrase, and says what is wrong with its settings', async () => {
    await runNightly(env as unknown as Env)
    expect(await keys('backups/')).toEqual([])
    expect(await describeNights(env as unknown as Env)).toMatch(/^off/)
    expect(await describeNights({ ...given, BACKUP_PASSPHRASE: 'short' })).toMatch(/failing: .*12 characters/)
    expect(await describeNights({ ...given, BACKUP_HOUR: '24' })).toMatch(/failing: .*0 to 23/)
    expect(await describeNights(given)).toMatch(/failing: none was made yet/)
    const { body } = await call<{ backups: string }>('GET', '/health/detailed')
    expect(body.backups).toMatch(/^off/)
  })

  it('goes on after each interruption until every tenant is complete', async () => {
    at(noon)
    const sessions = [await sessionWithFiles(), await sessionWithFiles()]
    const { id: other } = await newTenant()
    await bucket.put('t/default/media/picture', 'bytes')
    let rounds = 0
    for (; rounds < 40; rounds++) {
      await runNightly(given, { ...limits, parts: 2 })
      if ((await keys(`backups/${other}/night-`)).length) break
    }
    expect(rounds).toBeGreaterThan(2)
    await runNightly(given, limits)
    expect(await describeNights(given)).toMatch(/^last complete night 2026-11-20/)
    const names = (await namesOf('default', '2026-11-20')).map(({ name }) => name)
    for (const id of sessions) expect(names).toEqual(expect.arrayContaining([`session:${id}`, `checkpoints:${id}`]))
    expect(names).toEqual(expect.arrayContaining(['blob:media/picture', 'rows', 'state']))
    expect(new Set(names).size).toBe(names.length)
    expect(names.at(-1)).toBe('end')
    expect(await keys('backups/default/page-')).toEqual([])
  }, 120_000)

  it('does nothing more in the same night, and takes only what has changed in the next', async () => {
    at(noon + 60_000)
    const put = vi.spyOn(bucket, 'put')
    await runNightly(given, limits)
    expect(put).not.toHaveBeenCalled()
    put.mockRestore()
    const before = await namesOf('default', '2026-11-20')
    at(noon + dayMs)
    const added = await sessionWithFiles()
    // Neither is a turn.
    const [changed, named] = before.flatMap(({ name }) => (name.startsWith('session:') ? name.slice(8) : []))
    await request('PUT', `/api/sessions/${changed}/files/b.txt`, { body: 'by a person' })
    await call('PATCH', `/api/sessions/${named}`, { body: { title: 'Renamed' } })
    await vi.waitFor(async () => expect(await changedAt(changed)).toBeDefined())
    await runNightly(given, limits)
    const after = await namesOf('default', '2026-11-21')
    const files = new Set(before.map(({ file }) => file))
    const stored = after.filter(({ file }) => file && !files.has(file)).map(({ name }) => name)
    const sessions = [added, changed, named].flatMap((id) => [`checkpoints:${id}`, `session:${id}`])
    expect(stored.toSorted()).toEqual([...sessions, 'rows', 'state'].toSorted())
    expect(after.length).toBe(before.length + 2)
  })

  it('leaves a session out that was deleted, and keeps its earlier nights', async () => {
    at(noon + dayMs + hourMs)
    const id = await sessionWithFiles()
    at(noon + 2 * dayMs)
    await runNightly(given, limits)
    expect((await namesOf('default', '2026-11-22')).map(({ name }) => name)).toContain(`session:${id}`)
    await call('DELETE', `/api/sessions/${id}`)
    at(noon + 3 * dayMs)
    await runNightly(given, limits)
    expect((await namesOf('default', '2026-11-23')).map(({ name }) => name)).not.toContain(`session:${id}`)
    expect((await namesOf('default', '2026-11-22')).map(({ name }) => name)).toContain(`session:${id}`)
  })

  it('ends after the days that are kept, with the parts that no other night has', async () => {
    const first = await namesOf('default', '2026-11-20')
    at(noon + 4 * dayMs)
    // All parts were stored now: none is of the last day for a clock that is far ahead.
    at(Date.now() + 30 * dayMs)
    await runNightly(given, limits)
    const left = await keys('backups/default/')
    const nights = left.filter((key) => key.includes('night-'))
    expect(nights).toHaveLength(1)
    const used = (await namesOf('default', nights[0]!.slice(-16, -6))).flatMap(({ file }) => file ?? [])
    expect(left.filter((key) => key.endsWith('.sealed')).toSorted()).toEqual(
      used.map((file) => `backups/default/${file}`).toSorted(),
    )
    expect(first.some(({ file }) => file && !used.includes(file))).toBe(true)
  })

  it('names a tenant that fails, backs the others up, and tries it again', async () => {
    at(Date.now() + 31 * dayMs)
    const { id } = await newTenant()
    const broken = new Proxy(given.TENANT, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name)
        if (name !== 'getByName') return typeof value === 'function' ? value.bind(target) : value
        return (address: string) => {
          if (address === `t/${id}`) throw new Error('The object is lost.')
          return target.getByName(address)
        }
      },
    })
    await runNightly({ ...given, TENANT: broken }, limits)
    expect(await describeNights(given)).toMatch(new RegExp(`failing: 1 tenants, first ${id}: The object is lost.*last`))
    const night = new Date(Date.now() + 31 * dayMs - 3 * hourMs).toISOString().slice(0, 10)
    expect(await keys(`backups/default/night-${night}`)).toHaveLength(1)
    await runNightly(given, limits)
    expect(await describeNights(given)).toMatch(new RegExp(`^last complete night ${night}`))
  })

  it('is made once when two calls begin at the same time, and a killed call is replaced', async () => {
    at(Date.now() + 32 * dayMs)
    await Promise.all([runNightly(given, limits), runNightly(given, limits)])
    const status = async () => (await bucket.get('backups/status.json'))!.json<{ done: number; busyUntil: number }>()
    const { done } = await status()
    expect(done).toBe((await call<{ data: unknown[] }>('GET', '/api/admin/tenants?limit=100')).body.data.length)
    at(Date.now() + 33 * dayMs)
    await bucket.put(
      'backups/status.json',
      JSON.stringify({ ...(await status()), busyUntil: Date.now() + 33 * dayMs + 60_000 }),
    )
    await runNightly(given, limits)
    expect(await describeNights(given), 'another call is at work').toMatch(/^running|complete/)
    at(Date.now() + 33 * dayMs + 120_000)
    await runNightly(given, limits)
    expect(await describeNights(given)).toMatch(/^last complete night/)
  })

  it('stores everything again under another passphrase', async () => {
    at(Date.now() + 34 * dayMs)
    const changed = { ...given, BACKUP_PASSPHRASE: 'another long passphrase' }
    const before = await keys('backups/default/')
    await runNightly(changed, limits)
    const night = new Date(Date.now() + 34 * dayMs - 3 * hourMs).toISOString().slice(0, 10)
    const files = (await namesOf('default', night)).flatMap(({ file }) => file ?? [])
    expect(files.some((file) => before.includes(`backups/default/${file}`))).toBe(false)
  })

  it('is listed and sent as it is, to the owner alone', async () => {
    const { id, key } = await newTenant()
    const nights = '/api/admin/tenants/default/backup/nights'
    const { body } = await call<{ data: { night: string }[] }>('GET', nights)
    expect(body.data.length).toBeGreaterThan(1)
    const list = await request('GET', `${nights}/object?name=night-${body.data[0]?.night}.jsonl`)
    expect((await list.text()).split('\n').filter(Boolean).at(-1)).toContain('"end"')
    for (const name of ['status.json', '../status.json', 'archive.json%00', 'x.sealed'])
      expect((await request('GET', `${nights}/object?name=${name}`)).status).toBe(404)
    expect((await request('GET', nights, { key })).status).toBe(403)
    expect((await call('GET', `/api/admin/tenants/${id}/backup/nights`)).body).toEqual({ data: [], next_cursor: null })
  })
})
