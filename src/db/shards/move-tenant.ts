/**
 * Moves the history of a tenant to another database while it is used. A move is a series of steps which can end at any
 * time and be repeated: copy the sessions that differ, and when few are left, stop the tenant's queries for a moment, copy
 * these, compare everything, and let the row of the tenant name the new database. Then the old rows are deleted.
 */

import { warmRows } from '../cold-pages.ts'
import { titleStatements, pageStatements } from '../append-pages.ts'
import { deleteRowsOf } from '../delete-tenant.ts'
import { deleteSession } from '../delete-pages.ts'
import { decodePage, type EncodedPage, keysPerSession, type PageRow } from '../page-row.ts'
import { createTenantDb, type SqlValue, type TenantDb } from '../tenant-db.ts'
import {
  forgetHistoryDatabase,
  getHistoryDatabase,
  listHistoryDatabases,
  readHistoryName,
} from './history-databases.ts'
import { listDifferences } from './compare-histories.ts'

/** `sessions`: how many are still to be copied. */
export type MoveStep = {
  readonly status: 'copying' | 'deleting' | 'done'
  readonly sessions: number
  /** With this step the tenant has changed its database. */
  readonly hasSwitched?: true
}

/** D1 allows 1 000 queries in one invocation. A page takes three. */
const sessionsPerStep = 20
const pagesPerStep = 200
/** So many are copied while the tenant's queries wait. */
const maxSessionsAtSwitch = 10
const maxPagesAtSwitch = 50
/** Longer than an isolate remembers the database of a tenant, and than a switch takes. */
const stopMs = 60_000
const pagesPerRead = 8
const keptPerRead = 200
const historyTables = ['page', 'session', 'usage_kept']
const forever = Number.MAX_SAFE_INTEGER

/** Throws when the tenant has left `to` less than a minute ago: there may be isolates that would write to it at once. */
export async function moveTenant(env: Env, tenantId: string, to: string): Promise<MoveStep> {
  const from = await readHistoryName(env, tenantId)
  const target = createTenantDb(getHistoryDatabase(env, to).db, tenantId)
  if (from === to) return deleteOldRows(env, tenantId, to)
  const source = createTenantDb(getHistoryDatabase(env, from).db, tenantId)
  const move = { env, tenantId, to, source, target, blobs: env.BLOBS }
  const copied = await copySome(move, { sessions: sessionsPerStep, pages: pagesPerStep })
  if (copied.isCut || copied.left > maxSessionsAtSwitch) return { status: 'copying', sessions: copied.left }
  return (await switchDatabase(move))
    ? { status: 'deleting', sessions: 0, hasSwitched: true }
    : { status: 'copying', sessions: copied.left }
}

type Move = {
  readonly env: Env
  readonly tenantId: string
  readonly to: string
  readonly source: TenantDb
  readonly target: TenantDb
  readonly blobs: R2Bucket | undefined
}

type Copied = { readonly left: number; readonly isCut: boolean }

/** Copies sessions that differ. Returns how many still do, and whether one was too long: it takes several steps. */
async function copySome(move: Move, max: { readonly sessions: number; readonly pages: number }): Promise<Copied> {
  const { source, target } = move
  const ids = await listDifferences(source, target)
  let [pages, done, isCut] = [max.pages, 0, false]
  for (const id of ids.slice(0, max.sessions)) {
    const missing = await copySession(move, id, pages)
    isCut = missing > pages
    if (isCut) break
    pages -= missing
    done++
  }
  await copyKeptUsage(source, target)
  return { left: ids.length - done, isCut }
}

const upsertStop = `INSERT INTO moved(tenant_id, since, until) VALUES (?1, ?2, ?3)
  ON CONFLICT DO UPDATE SET since = excluded.since, until = excluded.until`
/** Changes nothing when the stop has ended meanwhile. */
const extendStop = 'UPDATE moved SET until = ?2 WHERE tenant_id = ?1 AND until > ?3'
const deleteStop = 'DELETE FROM moved WHERE tenant_id = ?1'

/** Returns false when too much was written meanwhile: the next step begins again. */
async function switchDatabase(move: Move): Promise<boolean> {
  const { env, tenantId, to, source, target } = move
  await requireLongGone(target, to)
  await source.write([source.statement(upsertStop, Date.now(), Date.now() + stopMs)])
  try {
    const { left } = await copySome(move, { sessions: maxSessionsAtSwitch, pages: maxPagesAtSwitch })
    const isSame = left === 0 && (await isCopied(source, target))
    const [extended] = isSame ? await source.write([source.statement(extendStop, Date.now() + stopMs, Date.now())]) : []
    if (!extended?.meta.changes) throw new NotYet()
    await target.write([target.statement(deleteStop)])
    const named = env.DB.prepare("UPDATE tenant SET history = ?2 WHERE id = ?1 AND status <> 'deleting'")
    const { meta } = await named.bind(tenantId, to === 'DB' ? null : to).run()
    if (!meta.changes) throw new NotYet()
  } catch (error) {
    await source.write([source.statement(deleteStop)])
    if (error instanceof NotYet) return false
    throw error
  }
  await source.write([source.statement(upsertStop, Date.now(), forever)])
  forgetHistoryDatabase(tenantId)
  return true
}

class NotYet extends Error {}
export class LeftTooRecently extends Error {}

/** Isolates that have not asked since then would write to the database as soon as its stop is gone. */
async function requireLongGone(target: TenantDb, to: string): Promise<void> {
  const [stop] = await target.read<{ since: number }>('SELECT since FROM moved WHERE tenant_id = ?1')
  if (stop && stop.since > Date.now() - stopMs)
    throw new LeftTooRecently(`The tenant has left ${to} less than a minute ago. Try again in a minute.`)
}

async function isCopied(source: TenantDb, target: TenantDb): Promise<boolean> {
  const kept = await Promise.all([source, target].map(countKeptUsage))
  return kept[0] === kept[1] && (await listDifferences(source, target)).length === 0
}

/** The rows in databases that the tenant has left. */
async function deleteOldRows(env: Env, tenantId: string, to: string): Promise<MoveStep> {
  for (const { name, db } of listHistoryDatabases(env)) {
    if (name === to) continue
    const tenantDb = createTenantDb(db, tenantId)
    if (!(await deleteRowsOf(tenantDb, historyTables))) return { status: 'deleting', sessions: 0 }
  }
  return { status: 'done', sessions: 0 }
}

type MovedSession = {
  readonly id: string
  readonly num: number
  readonly source: string
  readonly title: string | null
} & {
  readonly updated_at: number
} & Readonly<Record<string, SqlValue>>

const selectSession = 'SELECT * FROM session WHERE tenant_id = ?1 AND id = ?2'
const ownTitle = '(SELECT num << 20 FROM session WHERE tenant_id = ?1 AND id = ?2)'

/**
 * Makes the session in `target` equal to that in `source`, with at most so many pages. Pages with the same mark stay as
 * they are. Returns how many pages were missing.
 */
async function copySession(move: Move, id: string, max: number): Promise<number> {
  const { source, target } = move
  const [row] = await source.read<MovedSession>(selectSession, id)
  if (!row) {
    await deleteSession(target, id)
    return 0
  }
  const { renderBaseForms } = await import('../search/word-forms.ts')
  const titled = { id, title: row.title, source: row.source, updatedAt: row.updated_at }
  await target.write([
    upsertSession(target, row),
    ...['words', 'pieces'].map((table) => target.statement(`DELETE FROM ${table} WHERE rowid = ${ownTitle}`, id)),
    ...titleStatements(target, titled, renderBaseForms),
  ])
  const [wanted, held] = await Promise.all([readMarks(source, id), readMarks(target, id)])
  const missing = [...wanted].filter(([n, mark]) => held.get(n) !== mark).map(([n]) => n)
  const copied = missing.slice(0, max)
  for (let at = 0; at < copied.length; at += pagesPerRead) {
    const pages = await readPages(move, row.num, copied.slice(at, at + pagesPerRead))
    await target.write(pages.flatMap((page) => pageStatements(target, titled, page, renderBaseForms)))
  }
  for (const n of held.keys()) if (!wanted.has(n)) await deletePage(target, id, n)
  return missing.length
}

function upsertSession({ statement }: TenantDb, { num: _num, tenant_id: _tenant, ...row }: MovedSession) {
  const names = Object.keys(row)
  const values = names.map((_, n) => `?${n + 2}`)
  const changes = names.filter((name) => name !== 'id').map((name) => `${name} = excluded.${name}`)
  const sql = `INSERT INTO session(tenant_id, ${names.join(', ')}) VALUES (?1, ${values.join(', ')})
    ON CONFLICT(tenant_id, id) DO UPDATE SET ${changes.join(', ')}`
  return statement(sql, ...Object.values(row))
}

const selectMarks = `SELECT page.id & ${keysPerSession - 1} AS n, mark FROM session
  JOIN page ON page.id > session.num << 20 AND page.id < (session.num + 1) << 20
  WHERE session.tenant_id = ?1 AND session.id = ?2`

async function readMarks({ read }: TenantDb, id: string): Promise<ReadonlyMap<number, number>> {
  const rows = await read<{ n: number; mark: number }>(selectMarks, id)
  return new Map(rows.map(({ n, mark }) => [n, mark]))
}

type StoredPage = PageRow & { readonly last: number; readonly size: number; readonly mark: number }

/** Text in R2 stays there. It is read for the search index. */
async function readPages(
  { source, blobs }: Pick<Move, 'source' | 'blobs'>,
  num: number,
  numbers: readonly number[],
): Promise<readonly EncodedPage[]> {
  const keys = numbers.map((n) => num * keysPerSession + n)
  const marks = keys.map((_, n) => `?${n + 2}`).join(', ')
  const rows = await source.read<StoredPage>(`SELECT * FROM page WHERE tenant_id = ?1 AND id IN (${marks})`, ...keys)
  const warm = blobs ? await warmRows(rows, blobs) : rows
  return rows.map(({ last, size, mark, model, usage, turn, body }, n) => {
    return { page: decodePage(warm[n]!), last, size, mark, model, usage, turn, body }
  })
}

const ownPage = '(SELECT (num << 20) + ?3 FROM session WHERE tenant_id = ?1 AND id = ?2)'

async function deletePage({ statement, write }: TenantDb, id: string, n: number): Promise<void> {
  await write([
    ...['words', 'pieces'].map((table) => statement(`DELETE FROM ${table} WHERE rowid = ${ownPage}`, id, n)),
    statement(`DELETE FROM page WHERE tenant_id = ?1 AND id = ${ownPage}`, id, n),
  ])
}

const countKeptUsage = async ({ read }: TenantDb): Promise<number> =>
  (await read<{ n: number }>('SELECT count(*) AS n FROM usage_kept WHERE tenant_id = ?1'))[0]?.n ?? 0

/** Kept usage is only added. */
async function copyKeptUsage(source: TenantDb, target: TenantDb): Promise<void> {
  const [wanted, held] = await Promise.all([countKeptUsage(source), countKeptUsage(target)])
  if (wanted === held) return
  type Kept = Readonly<Record<string, SqlValue>> & { readonly run_id: string }
  const query = 'SELECT * FROM usage_kept WHERE tenant_id = ?1 AND run_id > ?2 ORDER BY run_id LIMIT ?3'
  for (let after = ''; ;) {
    const rows = await source.read<Kept>(query, after, keptPerRead)
    const inserts = rows.map(({ tenant_id: _tenant, ...row }) => {
      const names = Object.keys(row)
      const values = names.map((_, n) => `?${n + 2}`).join(', ')
      const sql = `INSERT INTO usage_kept(tenant_id, ${names.join(', ')}) VALUES (?1, ${values}) ON CONFLICT DO NOTHING`
      return target.statement(sql, ...Object.values(row))
    })
    if (inserts.length) await target.write(inserts)
    if (rows.length < keptPerRead) return
    after = rows.at(-1)?.run_id ?? ''
  }
}
