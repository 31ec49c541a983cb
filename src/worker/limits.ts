/** What a tenant may use. The tenant's object counts exactly; it is only asked when there is a limit. */

import type { TenantSnapshot } from '../durable/tenant-snapshot.ts'
import type { Admission } from '../durable/tenant.ts'
import { AppError } from './errors.ts'

export async function limitRequests(env: Env, { id, limits }: TenantSnapshot): Promise<void> {
  if (limits.requests_per_minute === undefined) return
  refuseOver(await env.TENANT.getByName(`t/${id}`).countRequest(limits.requests_per_minute))
}

/** Takes a place for the turn; its session gives it back at the end. */
export async function admitTurn(env: Env, { id, limits }: TenantSnapshot, runId: string): Promise<void> {
  if (limits.concurrent_turns === undefined) return
  refuseOver(await env.TENANT.getByName(`t/${id}`).admitTurn(runId, limits.concurrent_turns))
}

/** The place was taken for nothing: the request was refused after all. */
export async function releaseTurn(env: Env, { id, limits }: TenantSnapshot, runId: string): Promise<void> {
  if (limits.concurrent_turns !== undefined) await env.TENANT.getByName(`t/${id}`).releaseTurn(runId)
}

function refuseOver(admission: Admission): void {
  if (admission.ok) return
  const { limit, retryAfter } = admission
  throw new AppError(429, 'limit_exceeded', `The limit ${limit} of this tenant is reached.`, {
    param: limit,
    retryAfter,
  })
}
