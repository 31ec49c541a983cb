/** Reads the parts of a tenant that a backup has. Undefined is a part that was deleted meanwhile. */

import type { Authority } from '#agent/core/permission/authority.ts'
import { openHistory } from '#db/history.ts'
import { readTenantRows } from '#db/tenant-rows.ts'
import { sha256Hex } from '#durable/platform/hash.ts'
import { readLines, textStream } from '#durable/platform/byte-stream.ts'
import { blobPrefix, tenantStub } from '#durable/platform/addresses.ts'
import type { PageQuery } from '../input/page.ts'
import { addressSession } from '../sessions.ts'
import { encodeSession } from './session-lines.ts'

/** A tenant, and the operator who reads it. */
export type Source = { readonly env: Env; readonly tenantId: string; readonly operator: Authority }

/** Sessions know the operator as a caller of their tenant. */
const callerOf = ({ operator, tenantId }: Source): Authority => ({ ...operator, tenantId })

export const readRows = ({ env, tenantId }: Source): ReadableStream<Uint8Array> => textStream(rowLines(env, tenantId))

async function* rowLines(env: Env, tenantId: string): AsyncGenerator<string> {
  for await (const row of readTenantRows(env, tenantId)) yield `${JSON.stringify(row)}\n`
}

export const readState = ({ env, tenantId, operator }: Source): Promise<ReadableStream<Uint8Array>> =>
  tenantStub(env, tenantId).backup.read(operator)

export async function listSessions({ env, tenantId }: Source, { limit, cursor }: PageQuery) {
  const { data, nextCursor } = await openHistory(env, tenantId).listSessions({ limit, cursor })
  const marked = data.map(async (record) => ({
    id: record.id,
    updated_at: new Date(record.updatedAt).toISOString(),
    // A title, a setting or a file may change without a turn.
    mark: await sha256Hex(JSON.stringify(record), 16),
  }))
  return { data: await Promise.all(marked), next_cursor: nextCursor ?? null }
}

export async function readSession(source: Source, id: string) {
  const copy = await addressSession(source.env, source.tenantId, id).transfer.copy(callerOf(source))
  return copy && encodeSession(copy)
}

/** `keys`: of large contents, within those of the tenant. */
export async function readCheckpoints(source: Source, id: string) {
  const copy = await addressSession(source.env, source.tenantId, id).transfer.copyCheckpoints(callerOf(source))
  if (!copy) return undefined
  const keys: string[] = []
  for await (const key of readLines(copy.keys)) keys.push(key)
  return { rows: copy.rows, keys }
}

export async function listBlobs({ env, tenantId }: Source, { limit, cursor }: PageQuery) {
  const prefix = blobPrefix(tenantId)
  const found = await env.BLOBS?.list({ prefix, limit, ...(cursor && { cursor }) })
  const data = (found?.objects ?? [])
    .map(({ key, size, etag }) => ({ key: key.slice(prefix.length), bytes: size, etag }))
    .filter(({ key }) => !isMadeAgain(key))
  return { data, next_cursor: found?.truncated ? found.cursor : null }
}

/** Files of workspaces come with their session, old versions with its checkpoints. Uploads in parts and kept answers are not backed up. */
const isMadeAgain = (key: string): boolean => /^s\/[^/]+\/(?:files|checkpoints|cold)\/|^(?:answers|uploads)\//.test(key)

export const readBlob = async ({ env, tenantId }: Source, key: string) =>
  (await env.BLOBS?.get(blobPrefix(tenantId) + key)) ?? undefined
