/**
 * Limits requests with keys that this isolate does not know, before such a key is looked up. The optional binding counts
 * by address, approximately and for each location: it protects the database from guessed keys and is no quota.
 */

import { AppError } from './errors.ts'

/** The period of the binding. */
const retryAfterSeconds = 60

export async function requireShield({ SHIELD }: Env, request: Request): Promise<void> {
  if (!SHIELD) return
  const { success } = await SHIELD.limit({ key: request.headers.get('cf-connecting-ip') ?? 'unknown' })
  if (success) return
  const message = 'Too many requests with unknown keys from this address.'
  throw new AppError(429, 'limit_exceeded', message, { param: 'requests_per_minute', retryAfter: retryAfterSeconds })
}
