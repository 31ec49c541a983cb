/** Enforces the limits of a tenant. The tenant's object counts; it is called only when a limit is set. */

import type { TenantSnapshot } from '../durable/tenant/tenant-snapshot.ts'
import { tenantStub } from '../durable/tenant/tenant-stub.ts'
import type { Admission } from '../durable/tenant/effective-limits.ts'
import { AppError } from './errors.ts'

export async function requireRequestAdmission(env: Env, { id, limits }: TenantSnapshot): Promise<void> {
  if (limits.requests_per_minute === undefined) return
  requireAdmission(await tenantStub(env, id).limits.countRequest(limits.requests_per_minute))
}

/** Call it before storing this many more bytes. */
export async function requireStorageAdmission(env: Env, { id, limits }: TenantSnapshot, bytes: number): Promise<void> {
  if (limits.storage_bytes === undefined) return
  requireAdmission(await tenantStub(env, id).limits.admitBytes(bytes))
}

export function requireAdmission(admission: Admission): void {
  if (admission.ok) return
  const { limit, retryAfter } = admission
  throw new AppError(429, 'limit_exceeded', `The limit ${limit} of this tenant is reached.`, {
    param: limit,
    retryAfter,
  })
}
