/** Creates and redeems links that sign in once. A link is the fragment of our address, which no browser sends. */

import * as z from 'zod'
import { ownerTenant } from '#db/schema.ts'
import type { Authority } from '#agent/core/permission/authority.ts'
import { clock } from '#durable/platform/clock.ts'
import { seal, unseal } from '#durable/platform/seal.ts'
import { tenantStub } from '#durable/platform/addresses.ts'
import { type LoginHolder, requireSealing } from './login-cookie.ts'

const fragment = '#in='
const lifetimeMs = 600_000
const secretOwner = { tenant: ownerTenant, kind: 'login', id: 'link' }
const linkShape = z.object({
  tenantId: z.string(),
  keyId: z.string(),
  adminKey: z.string().optional(),
  login: z.string().optional(),
  nonce: z.string(),
  expiresAt: z.number(),
})
export type OpenedLink = z.infer<typeof linkShape>

export async function createLoginLink(
  env: Env,
  holder: LoginHolder & { readonly login?: string | undefined },
): Promise<{ readonly token: string; readonly expiresAt: number }> {
  requireSealing(env)
  const expiresAt = clock.now() + lifetimeMs
  const link: OpenedLink = { ...holder, nonce: crypto.randomUUID(), expiresAt }
  const token = await seal(env, JSON.stringify(link), secretOwner)
  return { token: token.replaceAll('+', '-').replaceAll('/', '_'), expiresAt }
}

/** Undefined when the link is damaged or expired. `given` may be the whole address. */
export async function openLoginLink(env: Env, given: string): Promise<OpenedLink | undefined> {
  const opened = await unseal(env, given.split(fragment).at(-1) ?? '', secretOwner)
  const { data: link } = linkShape.safeParse(opened.kind === 'opened' ? JSON.parse(opened.secret) : undefined)
  return link && link.expiresAt > clock.now() ? link : undefined
}

/** False when the link has been used. The tenant's object decides, so that it works once everywhere. */
export async function redeemLink(env: Env, authority: Authority, { nonce }: OpenedLink): Promise<boolean> {
  const ids = { sessionId: '', runId: '' }
  const claim = await tenantStub(env, authority.tenantId).claims.claim(authority, `login-link ${nonce}`, nonce, ids)
  return claim.kind === 'new'
}
