/** Creates the guarded fetch of a tenant. What it sends is counted in the ledger of the tenant, in the background. */

import { systemAuthority } from '#agent/core/permission/authority.ts'
import { log } from '#agent/core/log.ts'
import {
  type AddressGuard,
  createAddressGuard,
  createGuardedFetch,
  type GuardedFetch,
  type HostUse,
} from '#durable/platform/guarded-fetch.ts'
import { tenantStub } from '#durable/platform/addresses.ts'

/** Uses that were not sent to the tenant's object yet, by tenant. */
const ledgers = new Map<string, HostUse[]>()
/** More than one request can report at once. The rest is not counted. */
const maxPending = 1_000

/** `runInBackground` keeps the caller alive until the ledger is sent. */
export const createTenantFetch = (
  env: Env,
  tenantId: string,
  runInBackground: (work: Promise<unknown>) => void,
): GuardedFetch => createGuardedFetch(env, { record: (use) => runInBackground(record(env, tenantId, use)) })

/** Judges addresses as the guarded fetch does, and counts the refused ones. */
export const createTenantAddressGuard = (
  env: Env,
  tenantId: string,
  runInBackground: (work: Promise<unknown>) => void,
): AddressGuard => createAddressGuard(env, (use) => runInBackground(record(env, tenantId, use)))

/**
 * Sends what all requests have recorded at this moment. Each caller awaits its own call only: one of a request that was
 * cancelled never settles.
 */
async function record(env: Env, tenantId: string, use: HostUse): Promise<void> {
  const pending = ledgers.get(tenantId) ?? []
  ledgers.set(tenantId, pending)
  if (pending.length < maxPending) pending.push(use)
  await Promise.resolve()
  const uses = ledgers.get(tenantId)
  ledgers.delete(tenantId)
  if (!uses) return
  try {
    const authority = systemAuthority(tenantId, { kind: 'job', id: 'network-ledger' })
    await tenantStub(env, tenantId).network.record(authority, uses)
  } catch (error) {
    log.warn('network.uncounted', 'Requests could not be counted.', { error })
  }
}
