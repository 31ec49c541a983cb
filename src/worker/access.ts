/** Refuses requests of a suspended or deleted tenant and of revoked keys, whose identity may still be cached. */

import { findRefusal, fullAccess, keyOf } from '../agent/model/access.ts'
import type { Authority } from '../agent/model/authority.ts'
import { refusalBody } from '../agent/public-api/access-refusal.ts'
import { fetchTenantSnapshot, type TenantSnapshot } from '../durable/tenant/tenant-snapshot.ts'
import { AppError } from './errors.ts'

export function requireAccess({ access = fullAccess }: TenantSnapshot, authority: Authority): void {
  const refusal = findRefusal(access, keyOf(authority))
  if (!refusal) return
  const { code, message } = refusalBody(refusal)
  throw new AppError(code === 'tenant_suspended' ? 403 : 401, code, message)
}

/** Whether events from outside may start anything for the tenant. */
export async function isTenantActive(env: Env, tenantId: string): Promise<boolean> {
  const { access = fullAccess } = await fetchTenantSnapshot(env, tenantId)
  return access.status === 'active'
}
