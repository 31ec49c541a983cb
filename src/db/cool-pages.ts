/**
 * Moves the text of old pages to R2. The row stays with its small columns, and so does the search index: a cold page is
 * found and counted like others, and its text comes back when it is read (cold-pages.ts).
 */

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
