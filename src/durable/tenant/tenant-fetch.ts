/** Creates the guarded fetch of a tenant. What it sends is counted in the ledger of the tenant, in the background. */

import { systemAuthority } from '../../agent/model/permission/authority.ts'
import { log } from '../../agent/model/log.ts'
import {
  type AddressGuard,
  createAddressGuard,
  createGuardedFetch,
  type GuardedFetch,
  type HostUse,
} from '../platform/guarded-fetch.ts'
import { tenantStub } from './tenant-stub.ts'

/** Uses that were not sent to the tenant's object yet. */
type Ledger = { readonly uses: HostUse[]; sending: Promise<void> | undefined }

const ledgers = new Map<string, Ledger>()
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

function record(env: Env, tenantId: string, use: HostUse): Promise<void> {
  const ledger = ledgers.get(tenantId) ?? { uses: [], sending: undefined }
  ledgers.set(tenantId, ledger)
  if (ledger.uses.length < maxPending) ledger.uses.push(use)
  ledger.sending ??= send(env, tenantId, ledger)
  return ledger.sending
}

/** Sends everything that was recorded since the last time, in one call at a time. */
async function send(env: Env, tenantId: string, ledger: Ledger): Promise<void> {
  try {
    await Promise.resolve()
    const authority = systemAuthority(tenantId, { kind: 'job', id: 'network-ledger' })
    while (ledger.uses.length) await tenantStub(env, tenantId).network.record(authority, ledger.uses.splice(0))
  } catch (error) {
    log.warn('network.uncounted', 'Requests could not be counted.', { error })
  } finally {
    ledgers.delete(tenantId)
  }
}
