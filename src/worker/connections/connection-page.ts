/** Lists the connections of a tenant in pages, newest first. */

import { type Connection, type ConnectionCursor, createConnections } from '#db/channel-connections.ts'
import { invalidCursor } from '../errors.ts'
import type { RouteCall } from '../route.ts'

type PageCall = Pick<
  RouteCall<{ readonly limit: number; readonly cursor?: string | undefined }, unknown>,
  'env' | 'tenant' | 'query'
>

export async function listConnections(
  { env, tenant, query: { limit, cursor } }: PageCall,
  kind: 'channel' | 'webhook',
): Promise<{ readonly page: readonly Connection[]; readonly next_cursor: string | null }> {
  const before = cursor === undefined ? undefined : readCursor(cursor)
  const listed = await createConnections(env.DB, tenant.id).list({ kind, limit: limit + 1, before })
  const page = listed.slice(0, limit)
  const last = page.at(-1)
  return { page, next_cursor: listed.length > limit && last ? `${last.createdAt}-${last.id}` : null }
}

function readCursor(cursor: string): ConnectionCursor {
  const [, at, id] = /^(\d{1,16})-([A-Za-z0-9_]{1,100})$/.exec(cursor) ?? []
  if (at === undefined || id === undefined) throw invalidCursor()
  return { at: Number(at), id }
}
