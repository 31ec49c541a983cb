/**
 * Renews the tokens of a subscription. Only the tenant's object does it, once for all sessions, because a service accepts
 * a refresh token once.
 */

import { log } from '#agent/core/log.ts'
import { type Credential, credentialOwner } from '#durable/models/credentials.ts'
import { openTokens } from '#durable/models/subscription-tokens.ts'
import { clock } from '#durable/platform/clock.ts'
import { sealForTenant } from '../secrets/tenant-seal.ts'
import type { StoredValues } from '../stored-values.ts'
import { createTenantFetch } from '../tenant-fetch.ts'
import { createService, type TokenFailure } from './services.ts'

export type RenewAnswer = { readonly kind: 'renewed'; readonly sealed: string } | TokenFailure

/** The credentials of a tenant, as a renewal reads and replaces them. */
export type Renewals = {
  readonly env: Env
  readonly values: StoredValues
  readonly running: Map<string, Promise<RenewAnswer>>
  readonly find: (id: string) => Credential | undefined
  readonly replace: (id: string, sealed: string) => void
}

type Renewal = { readonly tenantId: string; readonly id: string; readonly seen: string }

export async function renewTokens(renewals: Renewals, { tenantId, id, seen }: Renewal): Promise<RenewAnswer> {
  const stored = renewals.find(id)
  if (!stored) return { kind: 'refused', reason: 'it was deleted or replaced' }
  if (stored.sealed !== seen) return { kind: 'renewed', sealed: stored.sealed }
  const running = renewals.running.get(id)
  if (running) return running
  const renewing = askService(renewals, tenantId, stored).finally(() => renewals.running.delete(id))
  renewals.running.set(id, renewing)
  return renewing
}

const intentName = (id: string): string => `renewal ${id}`
const ignoreEnd = (work: Promise<unknown>): void => void work.catch(() => undefined)

async function askService(renewals: Renewals, tenantId: string, stored: Credential): Promise<RenewAnswer> {
  const { env, values } = renewals
  const { id, provider, sealed: before } = stored
  const tokens = await openTokens(env, tenantId, stored)
  if (!tokens?.refresh) return { kind: 'refused', reason: 'it has no valid token any more' }
  const owner = credentialOwner(tenantId, stored)
  // The data key is at hand afterwards: between the answer and its storage nothing is asked of anybody.
  await sealForTenant(env, id, owner)
  const wasInterrupted = values.get<string>(intentName(id)) === before
  values.set(intentName(id), before)
  const answer = await createService(env, provider, createTenantFetch(env, tenantId, ignoreEnd)).renew(tokens)
  if (answer.kind === 'tokens') {
    const sealed = await sealForTenant(env, JSON.stringify(answer.tokens), owner)
    // The newest tokens win, also over what was only sealed anew meanwhile.
    renewals.replace(id, sealed)
    values.set(intentName(id), null)
    return renewals.find(id) ? { kind: 'renewed', sealed } : { kind: 'refused', reason: 'it was deleted' }
  }
  if (answer.kind === 'failed') return answer
  const { reason } = answer
  log.warn('subscription.refused', 'A subscription did not renew its tokens.', { provider, reason, at: clock.now() })
  return wasInterrupted
    ? { kind: 'refused', reason: `${reason}; an earlier renewal was interrupted, and its tokens may be lost` }
    : answer
}
