/** Copies a session into a new one of the same tenant. Refuses when the copy exceeds the storage limit. */

import type { Authority } from '#agent/core/permission/authority.ts'
import { cancelCopy, type SessionCopy } from '#durable/session/copies/fork.ts'
import type { NewSession } from '#durable/storage/session-metadata.ts'
import type { SessionDO } from '#durable/session/session-object.ts'
import type { TenantSnapshot } from '#durable/tenant/tenant-snapshot.ts'
import { AppError } from './errors.ts'
import { type RequestIds, releaseOnError } from './idempotency.ts'
import { requireStorageAdmission } from './limits.ts'
import { requireFound, addressSession } from './sessions.ts'

type ForkTarget = DurableObjectStub<SessionDO>
type Fork = {
  readonly spec: NewSession
  /** The last run to copy. All runs are copied without it. */
  readonly upTo?: string
  /** The files are those of that time. */
  readonly withEarlierFiles?: boolean
}
type ForkContext = { readonly env: Env; readonly authority: Authority; readonly tenant: TenantSnapshot }

export async function forkSession(
  { env, authority, tenant }: ForkContext,
  source: ForkTarget,
  target: ForkTarget,
  { spec, upTo, withEarlierFiles }: Fork,
) {
  const copied = await source.transfer.copy(authority, upTo, withEarlierFiles)
  const copy = requireFound(copied as unknown as SessionCopy | undefined)
  try {
    await requireStorageAdmission({ env, authority, tenant }, copy.bytes)
  } catch (error) {
    await cancelCopy(copy)
    throw error
  }
  return requireFound(await target.transfer.paste(authority, copy, { source: copy.meta.source, ...spec }))
}

type ForkedSubmit = Fork & { readonly source: ForkTarget; readonly ids: RequestIds }

/** Submits in a fork, which is deleted when the request is refused. */
export async function submitInFork<T>(
  context: ForkContext,
  { source, ids, ...fork }: ForkedSubmit,
  submitRequest: () => Promise<T>,
): Promise<T> {
  const { env, authority, tenant } = context
  const to: ForkTarget = addressSession(env, tenant.id, ids.sessionId)
  // A repeated request finds the fork of the first one.
  if (await to.info.get(authority)) return submitRequest()
  await releaseOnError(ids, () => forkSession(context, source, to, fork))
  try {
    return await submitRequest()
  } catch (error) {
    if (error instanceof AppError) await to.info.delete(authority)
    throw error
  }
}
