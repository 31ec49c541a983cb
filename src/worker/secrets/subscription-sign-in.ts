/** Answers the sign-in to a subscription: what the person has to do, or the credential that it became. */

import type { Authority } from '#agent/core/permission/authority.ts'
import { type Credential, maxCredentials } from '#durable/models/credentials.ts'
import { continueSubscription, type SignInAnswer, startSubscription } from '#durable/tenant/subscriptions/sign-in.ts'
import { forgetSnapshot } from '#durable/tenant/tenant-snapshot.ts'
import { AppError, invalid, notFound } from '../errors.ts'
import { requireEncryptionKey } from './require-encryption-key.ts'

type SignInCall = {
  readonly env: Env
  readonly authority: Authority
  readonly tenant: { readonly id: string }
  readonly body: {
    readonly provider?: string | undefined
    readonly name?: string | undefined
    readonly sign_in?: string | undefined
  }
}

export async function signInToSubscription<View>(
  { env, authority, tenant, body }: SignInCall,
  toView: (credential: Credential) => View,
) {
  requireEncryptionKey(env)
  const { provider, name = null, sign_in: signIn } = body
  const caller = { env, authority, tenantId: tenant.id }
  if ((provider === undefined) === (signIn === undefined))
    throw invalid('Give provider to begin, or sign_in of the last answer to go on.')
  const answer = await (provider === undefined
    ? continueSubscription(caller, signIn ?? '')
    : startSubscription(caller, { provider, name }))
  if (answer.kind === 'done') forgetSnapshot(tenant.id)
  return renderSignIn(answer, toView)
}

function renderSignIn<View>(answer: SignInAnswer, toView: (credential: Credential) => View) {
  switch (answer.kind) {
    case 'pending':
      return {
        status: 'pending' as const,
        provider: answer.provider,
        sign_in: answer.signIn,
        verification_url: answer.verificationUrl,
        user_code: answer.userCode,
        interval: answer.interval,
        expires_at: new Date(answer.expiresAt).toISOString(),
      }
    case 'done':
      return {
        status: 'done' as const,
        provider: answer.credential.provider,
        credential: toView(answer.credential),
      }
    case 'foreign':
      throw notFound()
    case 'full':
      throw new AppError(409, 'conflict', `There are already ${maxCredentials} credentials. Delete one first.`)
    case 'unknown':
      throw invalid('This sign-in was not begun here. Begin a new one.', 'sign_in')
    case 'expired':
      throw invalid('This sign-in has expired. Begin a new one.', 'sign_in')
    case 'refused':
      throw invalid(`The sign-in was refused: ${answer.reason}.`)
    case 'failed':
      throw new AppError(503, 'unavailable', `The service did not answer the sign-in: ${answer.reason}.`)
  }
}
