/**
 * Gives log entries the ids of the request, tenant, session and run that they belong to. The ids follow the asynchronous
 * calls of one object or request. Between objects the authority of a call has the request.
 */

import { AsyncLocalStorage } from 'node:async_hooks'
import { type LogFields, readLogContextWith } from '#agent/core/log.ts'
import type { Authority } from '#agent/core/permission/authority.ts'

export type LogIds = Pick<LogFields, 'request_id' | 'tenant_id' | 'session_id' | 'run_id'>

type Context = { readonly read: () => LogIds; noted: LogIds }

const context = new AsyncLocalStorage<Context>()
readLogContextWith(() => idsOf(context.getStore()))

const idsOf = (current: Context | undefined): LogIds => ({ ...current?.read(), ...current?.noted })

/**
 * Runs work whose log entries have these ids, besides those of the caller. They are read with each entry, because a
 * driver goes on with the next turn. An id that is undefined hides that of the caller.
 */
export function withLogContext<T>(readIds: () => LogIds, work: () => T): T {
  const outer = context.getStore()
  return context.run({ read: () => ({ ...idsOf(outer), ...readIds() }), noted: {} }, work)
}

/** Adds ids that a request learns on its way, such as those of a run that it starts, to its further entries. */
export function noteLogIds(ids: LogIds): void {
  const current = context.getStore()
  if (current) current.noted = { ...current.noted, ...ids }
}

/** The ids of a call to an object. */
export const logIdsOf = ({ tenantId, requestId }: Pick<Authority, 'tenantId' | 'requestId'>): LogIds => ({
  tenant_id: tenantId,
  request_id: requestId,
})
