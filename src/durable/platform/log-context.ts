/**
 * Gives log entries the ids of the request, tenant, session and run that they belong to. The ids follow the asynchronous
 * calls of one object or request. Between objects the authority of a call has the request.
 */

import { AsyncLocalStorage } from 'node:async_hooks'
import { type LogFields, readLogContextWith } from '#agent/core/log.ts'
import type { Authority } from '#agent/core/permission/authority.ts'

export type LogIds = Pick<LogFields, 'request_id' | 'tenant_id' | 'session_id' | 'run_id'>

const context = new AsyncLocalStorage<() => LogIds>()
readLogContextWith(() => context.getStore()?.() ?? {})

/**
 * Runs work whose log entries have these ids, besides those of the caller. They are read with each entry, because a
 * driver goes on with the next turn. An id that is undefined hides that of the caller.
 */
export function withLogContext<T>(readIds: () => LogIds, work: () => T): T {
  const readOuter = context.getStore()
  return context.run(() => ({ ...readOuter?.(), ...readIds() }), work)
}

/** The ids of a call to an object. */
export const logIdsOf = ({ tenantId, requestId }: Pick<Authority, 'tenantId' | 'requestId'>): LogIds => ({
  tenant_id: tenantId,
  request_id: requestId,
})
