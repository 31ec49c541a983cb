/** What a tenant may use. The tenant's object counts exactly; it is only asked when there is a limit. */

import type { TenantSnapshot } from '../durable/tenant/tenant-snapshot.ts'
import { tenantStub } from '../durable/tenant/tenant-stub.ts'
import type { Admission } from '../durable/tenant/effective-limits.ts'
import { AppError } from './errors.ts'

export async function limitRequests(env: Env, { id, limits }: TenantSnapshot): Promise<void> {
  if (limits.requests_per_minute === undefined) return
  refuseOver(await tenantStub(env, id).limits.countRequest(limits.requests_per_minute))
}

/** Before so many bytes more are kept for the tenant. */
export async function limitStorage(env: Env, { id, limits }: TenantSnapshot, bytes: number): Promise<void> {
  if (limits.storage_bytes === undefined) return
  refuseOver(await tenantStub(env, id).limits.admitBytes(bytes))
}

export function refuseOver(admission: Admission): void {
  if (admission.ok) return
  const { limit, retryAfter } = admission
  throw new AppError(429, 'limit_exceeded', `The limit ${limit} of this tenant is reached.`, {
    param: limit,
    retryAfter,
  })
}
