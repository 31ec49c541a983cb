/** Recognises tokens of identity providers, and verifies them with the ports of this deployment. */

import { createLogins } from '#db/logins.ts'
import { createGuardedFetch } from '#durable/platform/guarded-fetch.ts'
import { isForeign } from './same-origin.ts'
import { recordLogin } from './record-login.ts'
import { verifyLogin, type VerifiedLogin } from './verify-login.ts'

/** Cloudflare Access puts its token there. */
const accessHeader = 'cf-access-jwt-assertion'
const tokenPattern = /^eyJ[\w-]+\.[\w-]+\.[\w-]*$/
const maxTokenChars = 8_192

export const isToken = (presented: string): boolean => presented.length <= maxTokenChars && tokenPattern.test(presented)

/** The token of a request without a key. Access adds it to every request of a browser: pages of others get no access. */
export const accessToken = (request: Request): string | undefined =>
  isForeign(request) ? undefined : (request.headers.get(accessHeader) ?? undefined)

/** Undefined when the token gives no access; the result does not reveal why. `later` keeps the request alive for the audit log. */
export async function resolveLogin(
  token: string,
  env: Env,
  later: (work: Promise<unknown>) => void,
): Promise<VerifiedLogin | undefined> {
  const outcome = await verifyLogin(token, createLogins(env.DB), createGuardedFetch(env))
  if (outcome) later(recordLogin(env.DB, outcome))
  return outcome?.kind === 'accepted' ? outcome : undefined
}
