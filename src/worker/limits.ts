/** Enforces the limits of a tenant. The tenant's object counts; it is called only when a limit is set. */

import type { Authority } from '#agent/core/permission/authority.ts'
import type { TenantSnapshot } from '#durable/tenant/tenant-snapshot.ts'
import { tenantStub } from '#durable/platform/addresses.ts'
import type { Admission } from '#durable/tenant/effective-limits.ts'
import { AppError } from './errors.ts'

export async function requireRequestAdmission(
  env: Env,
  { id, limits }: TenantSnapshot,
  authority: Authority,
): Promise<void> {
  if (limits.requests_per_minute === undefined) return
  requireAdmission(await tenantStub(env, id).limits.countRequest(authority, limits.requests_per_minute))
}

type StoringCall = { readonly env: Env; readonly authority: Authority; readonly tenant: TenantSnapshot }

/** Call it before storing this many more bytes. */
export async function requireStorageAdmission(
  { env, authority, tenant: { id, limits } }: StoringCall,
  bytes: number,
): Promise<void> {
  if (limits.storage_bytes === undefined) return
  requireAdmission(await tenantStub(env, id).limits.admitBytes(authority, bytes))
}

export function requireAdmission(admission: Admission): void {
  if (admission.ok) return
  const { limit, retryAfter } = admission
  throw new AppError(429, 'limit_exceeded', `The limit ${limit} of this tenant is reached.`, {
    param: limit,
    retryAfter,
  })
}
