/** Tells the tenant's object that the turn of a job's run is over. A lost report is made up for: the object also looks. */

import type { Authority } from '#agent/core/permission/authority.ts'
import { log } from '#agent/core/log.ts'
import type { SessionMetadata } from '#durable/storage/session-metadata.ts'
import type { SessionStore } from '#durable/storage/store.ts'
import type { TenantDO } from '#durable/tenant/tenant-object.ts'

export type ReportingSession = {
  readonly sessionId: string
  readonly meta: Pick<SessionMetadata, 'jobRun'>
  readonly store: Pick<SessionStore, 'hasOpenTurn'>
  readonly ownAuthority: Authority
  readonly tenantObject: () => DurableObjectStub<TenantDO>
}

export async function reportJobEnd(session: ReportingSession): Promise<void> {
  if (session.meta.jobRun === undefined || session.store.hasOpenTurn) return
  try {
    await session.tenantObject().jobs.reportEnd(session.ownAuthority, session.sessionId)
  } catch (error) {
    log.warn('tenant.unreachable', 'The end of a job could not be reported; the tenant will look for it.', { error })
  }
}
