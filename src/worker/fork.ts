/** Copies a session into a new one of the same tenant. Refuses when the copy exceeds the storage limit. */

import type { Authority } from '../agent/model/authority.ts'
import { cancelCopy, type SessionCopy } from '../durable/session/fork.ts'
import type { NewSession } from '../durable/storage/session-metadata.ts'
import type { SessionDO } from '../durable/session/session-object.ts'
import type { TenantSnapshot } from '../durable/tenant/tenant-snapshot.ts'
import { requireStorageAdmission } from './limits.ts'
import { requireFound } from './sessions.ts'

type Session = DurableObjectStub<SessionDO>
type Fork = {
  readonly spec: NewSession
  /** The last run to copy. All runs are copied without it. */
  readonly upTo?: string
}
type ForkContext = { readonly env: Env; readonly authority: Authority; readonly tenant: TenantSnapshot }

export async function forkSession(
  { env, authority, tenant }: ForkContext,
  source: Session,
  target: Session,
  { spec, upTo }: Fork,
) {
  const copy = requireFound((await source.transfer.copy(authority, upTo)) as unknown as SessionCopy | undefined)
  try {
    await requireStorageAdmission(env, tenant, copy.bytes)
  } catch (error) {
    await cancelCopy(copy)
    throw error
  }
  return requireFound(await target.transfer.paste(authority, copy, { source: copy.meta.source, ...spec }))
}
