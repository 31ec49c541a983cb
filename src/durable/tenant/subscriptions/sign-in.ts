/**
 * Signs a tenant in to a service that is paid by subscription. What is open until the person has confirmed travels sealed
 * with the client, so nothing is stored for a sign-in that is given up.
 */

import { actorOf } from '#agent/core/permission/audit.ts'
import type { Authority } from '#agent/core/permission/authority.ts'
import { isJsonObject, parseJson } from '#agent/core/parse-json.ts'
import { type Credential, credentialOwner, getKeyStatus, providerOwner } from '#durable/models/credentials.ts'
import { readIdentity } from '#durable/models/subscription-tokens.ts'
import { tenantStub } from '#durable/platform/addresses.ts'
import { clock } from '#durable/platform/clock.ts'
import { newCredentialId } from '#durable/platform/ids.ts'
import { fingerprintSecret, type SecretOwner, unseal } from '#durable/platform/seal.ts'
import { sealForTenant } from '../secrets/tenant-seal.ts'
import { createTenantFetch } from '../tenant-fetch.ts'
import { createService, type DeviceSignIn, type PollAnswer, type TokenFailure } from './services.ts'

type OpenSignIn = DeviceSignIn & {
  readonly provider: string
  readonly name: string | null
  readonly expiresAt: number
  /** Only the person who began a sign-in ends it. */
  readonly actor: string
}

export type PendingSignIn = {
  readonly kind: 'pending'
  /** Sealed. */
  readonly signIn: string
  readonly provider: string
  readonly userCode: string
  readonly verificationUrl: string
  readonly interval: number
  readonly expiresAt: number
}

export type SignInAnswer =
  | PendingSignIn
  | { readonly kind: 'done'; readonly credential: Credential }
  | { readonly kind: 'full' | 'foreign' | 'unknown' | 'expired' }
  | TokenFailure

type Caller = { readonly env: Env; readonly authority: Authority; readonly tenantId: string }

const ownerOf = (tenant: string): SecretOwner => ({ tenant, kind: 'subscription-sign-in', id: '' })
const ignoreEnd = (work: Promise<unknown>): void => void work.catch(() => undefined)
const serviceOf = ({ env, tenantId }: Caller, provider: string) =>
  createService(env, provider, createTenantFetch(env, tenantId, ignoreEnd))

const toPending = ({ provider, userCode, verificationUrl, interval, expiresAt }: OpenSignIn, signIn: string) => ({
  kind: 'pending' as const,
  signIn,
  provider,
  userCode,
  verificationUrl,
  interval,
  expiresAt,
})

export async function startSubscription(
  caller: Caller,
  { provider, name }: { readonly provider: string; readonly name: string | null },
): Promise<SignInAnswer> {
  const started = await serviceOf(caller, provider).start()
  if ('kind' in started) return started
  const expiresAt = clock.now() + started.lifetime * 1e3
  return sealPending(caller, { ...started, provider, name, expiresAt, actor: actorOf(caller.authority) })
}

const sealPending = async ({ env, tenantId }: Caller, open: OpenSignIn): Promise<PendingSignIn> =>
  toPending(open, await sealForTenant(env, JSON.stringify(open), ownerOf(tenantId)))

const slowerSeconds = 5

/** Asks whether the person has confirmed, and stores the tokens then. */
export async function continueSubscription(caller: Caller, signIn: string): Promise<SignInAnswer> {
  const opened = await unseal(caller.env, signIn, ownerOf(caller.tenantId))
  const value = opened.kind === 'opened' ? parseJson(opened.secret) : undefined
  if (!isJsonObject(value) || value['actor'] !== actorOf(caller.authority)) return { kind: 'unknown' }
  const open = value as unknown as OpenSignIn
  if (open.expiresAt <= clock.now()) return { kind: 'expired' }
  const answer = await serviceOf(caller, open.provider).poll(open)
  if (answer.kind === 'pending')
    return answer.isTooFast
      ? sealPending(caller, { ...open, interval: open.interval + slowerSeconds })
      : toPending(open, signIn)
  return answer.kind === 'tokens' ? storeTokens(caller, open, answer) : answer
}

/** Replaces the sign-in of the same account, and those of the service that have ended. */
async function storeTokens(
  { env, authority, tenantId }: Caller,
  { provider, name }: OpenSignIn,
  { tokens, label }: Extract<PollAnswer, { kind: 'tokens' }>,
): Promise<SignInAnswer> {
  const id = newCredentialId()
  const secret = JSON.stringify(tokens)
  const mark = await fingerprintSecret(env, readIdentity(secret), providerOwner(tenantId, provider))
  const credential: Credential = {
    id,
    provider,
    name: name ?? label ?? null,
    lastFour: '',
    createdAt: clock.now(),
    sealed: await sealForTenant(env, secret, credentialOwner(tenantId, { id, provider })),
    mark,
  }
  const { credentials } = tenantStub(env, tenantId)
  const { list, health } = await credentials.list(authority)
  const isEnded = (one: Credential) => getKeyStatus(health[one.id], clock.now()).status === 'dead'
  const replaced = list.filter((one) => one.provider === provider && (one.mark === mark || isEnded(one)))
  const outcome = await tenantStub(env, tenantId).credentials.add(
    authority,
    credential,
    replaced.map((one) => one.id),
  )
  return outcome === 'added' ? { kind: 'done', credential } : { kind: outcome === 'known' ? 'unknown' : outcome }
}
