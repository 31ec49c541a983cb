/** Recognises tokens of identity providers, and verifies them with the ports of this deployment. */

import { createLogins } from '../../db/logins.ts'
import { createGuardedFetch } from '../../durable/platform/guarded-fetch.ts'
import { verifyLogin, type VerifiedLogin } from './verify-login.ts'

/** Cloudflare Access puts its token there. */
const accessHeader = 'cf-access-jwt-assertion'
const tokenPattern = /^eyJ[\w-]+\.[\w-]+\.[\w-]*$/
const maxTokenChars = 8_192

export const isToken = (presented: string): boolean => presented.length <= maxTokenChars && tokenPattern.test(presented)

/** The token of a request without a key. Access adds it to every request of a browser: pages of others get no access. */
export const accessToken = (request: Request): string | undefined =>
  isForeign(request) ? undefined : (request.headers.get(accessHeader) ?? undefined)

function isForeign({ headers, url }: Request): boolean {
  const site = headers.get('sec-fetch-site')
  if (site !== null) return site !== 'same-origin' && site !== 'none'
  const origin = headers.get('origin')
  return origin !== null && origin !== new URL(url).origin
}

export const resolveLogin = (token: string, env: Env): Promise<VerifiedLogin | undefined> =>
  verifyLogin(token, createLogins(env.DB), createGuardedFetch(env))
