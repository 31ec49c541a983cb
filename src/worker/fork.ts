/** Copying a session into another one of its tenant, as far as there is room. */

import { leave, type SessionCopy } from '../durable/session/fork.ts'
import type { NewSession } from '../durable/storage/session-metadata.ts'
import type { SessionDO } from '../durable/session/session-object.ts'
import type { TenantSnapshot } from '../durable/tenant/tenant-snapshot.ts'
import { limitStorage } from './limits.ts'
import { found } from './sessions.ts'

type Session = DurableObjectStub<SessionDO>
type Fork = {
  readonly spec: NewSession
  /** The last run that is copied; without it all of them are. */
  readonly upTo?: string
}
type Place = { readonly env: Env; readonly tenant: TenantSnapshot }

export async function fork({ env, tenant }: Place, source: Session, target: Session, { spec, upTo }: Fork) {
  const copy = found((await source.transfer.copy(upTo)) as unknown as SessionCopy | undefined)
  try {
    await limitStorage(env, tenant, copy.bytes)
  } catch (error) {
    await leave(copy)
    throw error
  }
  return target.transfer.paste(copy, { source: copy.meta.source, ...spec })
}
