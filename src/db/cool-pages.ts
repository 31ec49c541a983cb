/**
 * Moves the text of old pages to R2. The row stays with its small columns, and so does the search index: a cold page is
 * found and counted like others, and its text comes back when it is read (cold-pages.ts).
 */

import { log } from '#agent/core/log.ts'
import { sessionBlobPrefix } from '#durable/platform/addresses.ts'
import { coldMark } from './cold-pages.ts'
import { keysPerSession } from './page-row.ts'
import { historyDb } from './shards/sharded-database.ts'
import { createTenantDb } from './tenant-db.ts'

/** A smaller page would not make the database smaller by much, and costs a request when it is read. */
const minColdBytes = 1_024
/** D1 allows 1 000 queries in one invocation, and R2 as many requests. */
const pagesPerStep = 100

/** `after`: the key of a page. The number of the session is part of it, so all pages have one order. */
const selectWarm = `SELECT page.id AS key, session.id AS session, page.mark FROM session
  JOIN page ON page.id > session.num << 20 AND page.id < (session.num + 1) << 20
  WHERE session.tenant_id = ?1 AND session.created_at < ?2 AND page.id > ?3 AND page.tenant_id = ?1 AND page.at < ?2
    AND page.size >= ${minColdBytes} AND substr(page.body, 1, ${coldMark.length}) <> '${coldMark}'
  ORDER BY page.id LIMIT ${pagesPerStep}`
/** One at a time, because a page may have 1.5 MB. */
const selectBody = 'SELECT body FROM page WHERE tenant_id = ?1 AND id = ?2 AND mark = ?3'
/** A page that was written again meanwhile stays. */
const updateBody = 'UPDATE page SET body = ?4 WHERE tenant_id = ?1 AND id = ?2 AND mark = ?3'

type WarmPage = { readonly key: number; readonly session: string; readonly mark: number }
/** `next`: where the next step begins. Undefined when no older page is left. */
type CoolStep = { readonly pages: number; readonly next: number | undefined }

/** Moves some pages whose turn began before a time. Repeating a step is harmless. */
export async function coolPages(
  env: Env & { readonly BLOBS: R2Bucket },
  tenantId: string,
  { before, after }: { readonly before: number; readonly after: number },
): Promise<CoolStep> {
  const { read, statement, write } = createTenantDb(historyDb(env, tenantId), tenantId)
  const pages = await read<WarmPage>(selectWarm, before, after)
  for (const { key, session, mark } of pages) {
    const [row] = await read<{ body: string }>(selectBody, key, mark)
    if (!row) continue
    const name = `${sessionBlobPrefix(tenantId, session, 'cold')}${key % keysPerSession}-${mark}`
    await env.BLOBS.put(name, row.body)
    await write([statement(updateBody, key, mark, coldMark + name)])
  }
  return { pages: pages.length, next: pages.length < pagesPerStep ? undefined : pages.at(-1)?.key }
}

/** An hour of the week has one slice of the tenants, so that every tenant is looked at once a week. */
const slices = 168
/** Random, so that in a deployment of many thousands each is reached at some time. */
const selectSlice = `SELECT id FROM tenant WHERE rowid % ${slices} = ?1 ORDER BY random() LIMIT 60`
/** A page needs two queries, and twice as many with several databases: no step begins after these. */
const pagesPerRun = 100

/** Moves old pages of one slice of the tenants. Returns how many; the rest waits for the next week. */
export async function coolSlice(
  env: Env & { readonly BLOBS: R2Bucket },
  { at, before }: { readonly at: number; readonly before: number },
): Promise<number> {
  const slice = Math.floor(at / 3_600_000) % slices
  const { results } = await env.DB.prepare(selectSlice).bind(slice).all<{ id: string }>()
  let cooled = 0
  for (const { id } of results)
    for (let after: number | undefined = 0; after !== undefined && cooled < pagesPerRun;) {
      const step: CoolStep | undefined = await coolPages(env, id, { before, after }).catch((error: unknown) => {
        // A tenant that is being moved is looked at again in a week, and the others go on.
        log.warn('history.not_cooled', 'Old text of a tenant stays in its database.', { error, tenant_id: id })
        return undefined
      })
      cooled += step?.pages ?? 0
      after = step?.next
    }
  return cooled
}
