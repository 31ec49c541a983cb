/** Recognises tokens of identity providers, and verifies them with the ports of this deployment. */

import { createLogins } from '../../db/logins.ts'
import { createGuardedFetch } from '../../durable/platform/guarded-fetch.ts'
import { verifyLogin, type VerifiedLogin } from './verify-login.ts'

/** Cloudflare Access puts its token there. */
const accessHeader = 'cf-access-jwt-assertion'
const tokenPattern = /^eyJ[\w-]+\.[\w-]+\.[\w-]*$/
const maxTokenChars = 8_192

export const isToken = (presented: string): boolean => presented.length <= maxTokenChars && tokenPattern.test(presented)

/** The token of a request without a key. */
export const accessToken = (request: Request): string | undefined => request.headers.get(accessHeader) ?? undefined

export const resolveLogin = (token: string, env: Env): Promise<VerifiedLogin | undefined> =>
  verifyLogin(token, createLogins(env.DB), createGuardedFetch(env))
