/** Tests that the text of old pages moves to R2, and comes back wherever a page is read. */

import { env } from 'cloudflare:workers'
import { beforeAll, expect, it, vi } from 'vitest'
import { coolPages, coolSlice } from '#db/cool-pages.ts'
import { openHistory } from '#db/history.ts'
import { moveTenant } from '#db/shards/move-tenant.ts'
import { historyDb } from '#db/shards/sharded-database.ts'
import { createTenant, fleet, FleetSession, migrateAll } from './shards/fleet.ts'

beforeAll(migrateAll)

const { BLOBS } = env as unknown as { readonly BLOBS: R2Bucket }
const cooling = { ...fleet, BLOBS }
/** After all messages of the fleet. */
const before = Date.UTC(2026, 6, 1)

async function coolAll(tenant: string, until = before): Promise<number> {
  let pages = 0
  for (let after: number | undefined = 0; after !== undefined;) {
    const step: Awaited<ReturnType<typeof coolPages>> = await coolPages(cooling, tenant, { before: until, after })
    pages += step.pages
    after = step.next
  }
  return pages
}

const bodies = async (tenant: string) => {
  const query = historyDb(fleet, tenant).prepare('SELECT body FROM page WHERE tenant_id = ?1 ORDER BY id').bind(tenant)
  return (await query.all<{ body: string }>()).results.map(({ body }) => body)
}

it('are found, read, written again, undone and moved like others', async () => {
  const tenant = 'cold'
  await createTenant(tenant)
  const session = new FleetSession(tenant, 'old', 'x'.repeat(2_000))
  await session.write(60)
  expect(await coolAll(tenant, Date.UTC(2020, 0, 1))).toBe(0)
  expect(await coolAll(tenant)).toBe(60)
  expect(await coolAll(tenant)).toBe(0)
  expect((await bodies(tenant)).every((body) => body.startsWith('cold:t/cold/s/old/cold/'))).toBe(true)
  expect(await session.read()).toEqual(session.expected())
  const [hit] = await openHistory(fleet, tenant).search('message37', 5)
  expect(hit?.snippet).toContain('message37')
  const around = await openHistory(fleet, tenant).read('old', { around: 30, window: 1 })
  expect(around?.map(({ content }) => content.slice(0, 9))).toEqual(['message29', 'message30', 'message31'])
  await session.undo(5)
  await session.write(7)
  expect(await session.read()).toEqual(session.expected())
  for (const to of ['HISTORY_1', 'HISTORY_2', 'HISTORY_3'])
    while ((await moveTenant(fleet, tenant, to).catch(() => ({ status: 'done' }))).status !== 'done');
  expect(await session.read()).toEqual(session.expected())
  expect((await openHistory(fleet, tenant).search('message37', 5))[0]?.snippet).toContain('message37')
}, 120_000)

it('stay where they are when they are small, and fail to be read when their text is lost', async () => {
  const tenant = 'warm'
  await createTenant(tenant)
  const small = new FleetSession(tenant, 'small')
  await small.write(5)
  expect(await coolAll(tenant)).toBe(0)
  const large = new FleetSession(tenant, 'large', 'y'.repeat(2_000))
  await large.write(1)
  expect(await coolAll(tenant)).toBe(1)
  const [body = ''] = (await bodies(tenant)).filter((one) => one.startsWith('cold:'))
  await BLOBS.delete(body.slice('cold:'.length))
  await expect(large.read()).rejects.toThrow('not in BLOBS')
  expect(await small.read()).toEqual(small.expected())
})

it('are moved by the hour of the week that their tenant has, and not by others', async () => {
  const tenant = 'weekly'
  await createTenant(tenant)
  await new FleetSession(tenant, 'old', 'x'.repeat(2_000)).write(20)
  const row = await fleet.DB.prepare('SELECT rowid AS n FROM tenant WHERE id = ?1').bind(tenant).first<{ n: number }>()
  const hour = 168 * 3_000 + (row?.n ?? 0)
  await coolSlice(cooling, { at: (hour + 1) * 3_600_000, before })
  expect((await bodies(tenant)).some((body) => body.startsWith('cold:'))).toBe(false)
  await coolSlice(cooling, { at: hour * 3_600_000, before: Date.UTC(2020, 0, 1) })
  expect((await bodies(tenant)).some((body) => body.startsWith('cold:'))).toBe(false)
  const printed = vi.spyOn(console, 'warn').mockImplementation(() => undefined)
  const broken = { put: () => Promise.reject(new Error('R2 is down')) } as unknown as R2Bucket
  await coolSlice({ ...cooling, BLOBS: broken }, { at: hour * 3_600_000, before })
  const lines = printed.mock.calls.map(([line]) => JSON.parse(String(line)) as unknown)
  printed.mockRestore()
  expect(lines).toContainEqual(expect.objectContaining({ event: 'history.not_cooled', tenant_id: tenant }))
  await coolSlice(cooling, { at: hour * 3_600_000 + 59, before })
  expect((await bodies(tenant)).every((body) => body.startsWith('cold:'))).toBe(true)
}, 60_000)
