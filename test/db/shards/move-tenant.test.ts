/** Tests tenants whose histories are in several databases, and the move of one while it is used. */

import { env } from 'cloudflare:workers'
import { beforeAll, describe, expect, it } from 'vitest'
import { openHistory } from '#db/history.ts'
import { addUsage } from '#db/delete-pages.ts'
import { noUsage } from '#agent/core/usage.ts'
import { createTenantRemoval } from '#db/delete-tenant.ts'
import { forgetHistoryDatabase, listHistoryDatabases, readHistoryName } from '#db/shards/history-databases.ts'
import { moveTenant } from '#db/shards/move-tenant.ts'
import { historyDb } from '#db/shards/sharded-database.ts'
import { isLong } from '#test/support/long.ts'
import { renderError } from '#worker/errors.ts'
import { createTenant, databases, Died, dyingAt, FleetSession, fleet, migrateAll, single as one } from './fleet.ts'

const { FLEET_TENANTS = '12', FLEET_MESSAGES = '600' } = env as unknown as Readonly<Record<string, string | undefined>>
const [tenants, messages] = [Number(FLEET_TENANTS), Number(FLEET_MESSAGES)]
const perWrite = 10

beforeAll(migrateAll)

async function moveAll(tenant: string, to: string, deployment = fleet): Promise<number> {
  for (let steps = 1; ; steps++) if ((await moveTenant(deployment, tenant, to)).status === 'done') return steps
}

const countRows = async (db: D1Database, tenant: string) =>
  (
    await db
      .prepare(
        'SELECT (SELECT count(*) FROM session WHERE tenant_id = ?1) + (SELECT count(*) FROM page WHERE tenant_id = ?1) AS n',
      )
      .bind(tenant)
      .first<{ n: number }>()
  )?.n

const dbOf = (name: string) => listHistoryDatabases(fleet).find((one) => one.name === name)!.db
const otherThan = (name: string) => (name === 'HISTORY_1' ? 'HISTORY_2' : 'HISTORY_1')
const search = async (tenant: string, query: string) =>
  (await openHistory(fleet, tenant).search(query, 50)).map((hit) => hit.session_id)

/** Moves a tenant whose first isolate dies. Returns false when the move had fewer queries. */
async function moveThroughDeath(tenant: string, death: { query: number; isDone: boolean }): Promise<boolean> {
  await createTenant(tenant)
  const from = await readHistoryName(fleet, tenant)
  const to = otherThan(from)
  const sessions = Array.from({ length: 12 }, (_, n) => new FleetSession(tenant, `${tenant}-${n}`))
  for (const session of sessions) await session.write(2)
  await addUsage(historyDb(fleet, tenant), tenant, { runId: 'paid', at: Date.now(), source: 'api', usage: noUsage })
  const dying = dyingAt(death.query, death.isDone)
  const outcome = await moveAll(tenant, to, dying).catch((error: unknown) => error)
  const hasDied = outcome instanceof Died
  if (!hasDied && typeof outcome !== 'number') throw outcome
  // As if a minute had passed: a stop ends by itself, and no isolate remembers a database for so long.
  forgetHistoryDatabase(tenant)
  const endStop = dbOf(from).prepare('UPDATE moved SET until = 0 WHERE tenant_id = ? AND until < ?')
  await endStop.bind(tenant, Date.now() + 120_000).run()
  for (const session of sessions.slice(0, 3)) await session.write(1)
  await moveAll(tenant, to)
  expect(await readHistoryName(fleet, tenant), tenant).toBe(to)
  for (const session of sessions) expect(await session.read(), tenant).toEqual(session.expected())
  const counts = await Promise.all(databases.map((db) => countRows(db, tenant)))
  expect(counts.filter(Boolean), tenant).toEqual([sessions.length + sessions.length * 2 + 3])
  const found = await search(tenant, 'message3')
  expect(new Set(found), tenant).toEqual(new Set(sessions.slice(0, 3).map(({ id }) => id)))
  return hasDied
}

const timed = async (work: () => Promise<unknown>): Promise<number> => {
  const began = performance.now()
  await work()
  return performance.now() - began
}
const median = (samples: readonly number[]) => samples.toSorted((a, b) => a - b)[samples.length >> 1] ?? 0

/**
 * Compares searches of the fleet with those of one database that has all its messages. They alternate, and the first of
 * each does not count: it looks for the database of the tenant.
 */
async function compareSearches(ids: readonly string[]): Promise<{ readonly sharded: number; readonly single: number }> {
  const [sharded, single]: [number[], number[]] = [[], []]
  for (const id of ids)
    for (let n = 0; n <= 10; n++) {
      const ofFleet = () => openHistory(fleet, id).search(`message${n}`, 10)
      const ofOne = () => openHistory(one, id).search(`message${n}`, 10)
      const first = n % 2 ? await timed(ofFleet) : await timed(ofOne)
      const second = n % 2 ? await timed(ofOne) : await timed(ofFleet)
      if (n === 0) continue
      sharded.push(n % 2 ? first : second)
      single.push(n % 2 ? second : first)
    }
  return { sharded: median(sharded), single: median(single) }
}

describe('several databases', () => {
  it('are not asked for when none is bound', () => {
    expect(historyDb(fleet, 'any')).not.toBe(fleet.DB)
    const { HISTORY_1: _none, ...plain } = fleet as Env & { readonly HISTORY_1: D1Database }
    expect(historyDb(plain, 'any')).toBe(plain.DB)
  })

  it('hold the histories of all tenants while one is moved and writes: nothing is lost, doubled or found elsewhere', async () => {
    const ids = Array.from({ length: tenants }, (_, n) => `fleet-${n}`)
    for (const id of ids) await createTenant(id)
    const names = await Promise.all(ids.map((id) => readHistoryName(fleet, id)))
    const perDatabase = ['HISTORY_1', 'HISTORY_2', 'HISTORY_3'].map(
      (wanted) => names.filter((n) => n === wanted).length,
    )
    expect(perDatabase.reduce((sum, count) => sum + count, 0)).toBe(tenants)
    expect(Math.max(...perDatabase) - Math.min(...perDatabase), 'tenants per database').toBeLessThanOrEqual(1)
    const perTenant = Math.ceil(messages / tenants)
    const sessions = ids.flatMap((id) => [new FleetSession(id, `${id}-one`), new FleetSession(id, `${id}-two`)])
    // Its move takes several steps.
    const others = Array.from({ length: 50 }, (_, n) => new FleetSession(ids[0] ?? '', `other-${n}`))
    for (const session of others) await session.write(1)
    const writeAll = async (of: readonly FleetSession[]) => {
      for (const session of of) for (let n = 0; n < perTenant / 2; n += perWrite) await session.write(perWrite)
    }
    const moved = ids[0] ?? ''
    const from = names[0] ?? ''
    const lanes = [0, 1, 2, 3].map((lane) => writeAll(sessions.filter((_, n) => n >= 2 && n % 4 === lane)))
    const busy = writeAll(sessions.slice(0, 2))
    const steps = moveAll(moved, otherThan(from))
    await Promise.all([...lanes, busy, ...others.map((session) => session.write(1)), steps])
    expect(await steps).toBeGreaterThan(2)
    expect(await readHistoryName(fleet, moved)).toBe(otherThan(from))
    expect(await countRows(dbOf(from), moved)).toBe(0)
    for (const session of [...sessions, ...others]) expect(await session.read()).toEqual(session.expected())
    expect(await search(moved, `message${perWrite}`)).toEqual(expect.arrayContaining([`${moved}-one`, `${moved}-two`]))
    const foundByOther = await search(ids[1] ?? '', `message1 of ${moved}`)
    expect(foundByOther.filter((id) => !id.startsWith(`${ids[1]}-`))).toEqual([])
    for (const session of [...sessions, ...others]) await session.copyTo(one)
    const { sharded, single } = await compareSearches(ids.slice(0, 40))
    console.log(
      `${tenants} tenants, ${messages} messages: a search takes ${sharded.toFixed(1)} ms, in one database ${single.toFixed(1)} ms (${(sharded / single).toFixed(2)} ×)`,
    )
    // A small fleet measures the noise of the machine.
    expect(sharded / single).toBeLessThanOrEqual(tenants >= 1_000 ? 1.2 : Infinity)
    const rows = await Promise.all(databases.map((db) => countRows(db, moved)))
    expect(rows.filter(Boolean)).toHaveLength(1)
  }, 3_600_000)
})

describe('a tenant that is moved', () => {
  it('keeps undone messages away, its usage and its titles, and may come back after a minute', async () => {
    const tenant = 'mover'
    await createTenant(tenant)
    const from = await readHistoryName(fleet, tenant)
    const to = otherThan(from)
    const session = new FleetSession(tenant, 'undone')
    await session.write(20)
    await moveTenant(fleet, tenant, to).catch(() => undefined)
    await session.undo(5)
    await addUsage(historyDb(fleet, tenant), tenant, { runId: 'paid', at: Date.now(), source: 'api', usage: noUsage })
    const deleted = new FleetSession(tenant, 'deleted')
    await deleted.write(3)
    await openHistory(fleet, tenant).deleteSession('deleted')
    await moveAll(tenant, to)
    expect(await session.read()).toEqual(session.expected())
    expect(await search(tenant, 'title undone')).toContain('undone')
    expect(await search(tenant, 'message18')).toEqual([])
    const kept = historyDb(fleet, tenant).prepare('SELECT run_id FROM usage_kept WHERE tenant_id = ?1').bind(tenant)
    expect((await kept.all<{ run_id: string }>()).results.map(({ run_id: run }) => run)).toContain('paid')
    await expect(moveAll(tenant, from)).rejects.toThrow('less than a minute ago')
    expect(await readHistoryName(fleet, tenant)).toBe(to)
    await session.write(3)
    await dbOf(from).prepare('UPDATE moved SET since = 0 WHERE tenant_id = ?').bind(tenant).run()
    await moveAll(tenant, from)
    expect(await readHistoryName(fleet, tenant)).toBe(from)
    expect(await session.read()).toEqual(session.expected())
  })

  it('goes on with the same command after it died at any query, and nothing is lost or doubled', async () => {
    let deaths = 0
    // Every query is another state in which a move can end; `npm test` tries some of them.
    for (let query = 1, hasDied = true; hasDied; query += isLong ? 1 : 30)
      for (const isDone of isLong ? [false, true] : [query % 2 === 0]) {
        hasDied = await moveThroughDeath(`dies-${query}-${isDone}`, { query, isDone })
        if (hasDied) deaths++
      }
    expect(deaths).toBeGreaterThan(2)
    console.log(`a move that died at ${deaths} queries`)
  }, 600_000)

  it('may have a session that is longer than a step', async () => {
    const tenant = 'long'
    await createTenant(tenant)
    const session = new FleetSession(tenant, 'endless')
    for (let n = 0; n < 5; n++) await session.write(90)
    const to = otherThan(await readHistoryName(fleet, tenant))
    expect(await moveTenant(fleet, tenant, to)).toEqual({ status: 'copying', sessions: 1 })
    await moveAll(tenant, to)
    expect(await session.read()).toEqual(session.expected())
  })

  it('is reached again when a move ends in the middle of the switch', async () => {
    const tenant = 'stopped'
    await createTenant(tenant)
    const from = await readHistoryName(fleet, tenant)
    const session = new FleetSession(tenant, 'waiting')
    await session.write(2)
    const stop = dbOf(from).prepare('INSERT INTO moved(tenant_id, since, until) VALUES (?, ?, ?)')
    await stop.bind(tenant, Date.now(), Date.now() + 1_500).run()
    await session.write(2)
    expect(await session.read()).toEqual(session.expected())
  })

  it('is refused for the moment when a move that died has stopped it for longer', async () => {
    const tenant = 'refused'
    await createTenant(tenant)
    const from = await readHistoryName(fleet, tenant)
    const stop = dbOf(from).prepare('INSERT INTO moved(tenant_id, since, until) VALUES (?, ?, ?)')
    await stop.bind(tenant, Date.now(), Date.now() + 60_000).run()
    const query = historyDb(fleet, tenant, 100).prepare('SELECT id FROM session WHERE tenant_id = ?1').bind(tenant)
    const error: unknown = await query.all().catch((thrown: unknown) => thrown)
    expect(renderError(error).status).toBe(503)
    const broken = historyDb(fleet, tenant, 100).prepare("SELECT json('no')")
    expect(renderError(await broken.all().catch((thrown: unknown) => thrown)).status).toBe(503)
    await dbOf(from).prepare('DELETE FROM moved WHERE tenant_id = ?').bind(tenant).run()
    expect(renderError(await broken.all().catch((thrown: unknown) => thrown)).status).toBe(500)
  })

  it('is deleted from all databases', async () => {
    const tenant = 'leaving'
    await createTenant(tenant)
    const from = await readHistoryName(fleet, tenant)
    const session = new FleetSession(tenant, 'last')
    await session.write(4)
    await moveTenant(fleet, tenant, otherThan(from))
    const removal = createTenantRemoval(fleet, tenant)
    expect(await removal.mark(Date.now(), '')).toBe(true)
    while (!(await removal.deleteRows()));
    await removal.finish()
    for (const { db } of listHistoryDatabases(fleet)) expect(await countRows(db, tenant)).toBe(0)
  })
})
