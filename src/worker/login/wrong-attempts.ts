/** Limits wrong keys and links by address. Each isolate counts for itself: it slows guessing down and is no quota. */

import { BoundedMap } from '#agent/core/bounded-map.ts'
import { clock } from '#durable/platform/clock.ts'
import { AppError } from '../errors.ts'

const maxWrong = 10
const periodMs = 60_000
type Attempts = { readonly since: number; readonly count: number }
const attempts = new BoundedMap<string, Attempts>(10_000)

const addressOf = (request: Request): string => request.headers.get('cf-connecting-ip') ?? 'unknown'

const currentOf = (address: string): Attempts => {
  const known = attempts.get(address)
  return known && clock.now() - known.since < periodMs ? known : { since: clock.now(), count: 0 }
}

export function requireAttempt(request: Request): void {
  const { since, count } = currentOf(addressOf(request))
  if (count < maxWrong) return
  const retryAfter = Math.max(1, Math.ceil((since + periodMs - clock.now()) / 1_000))
  throw new AppError(429, 'limit_exceeded', 'Too many wrong keys from this address.', {
    param: 'login_attempts',
    retryAfter,
  })
}

export function countWrongAttempt(request: Request): void {
  const { since, count } = currentOf(addressOf(request))
  attempts.set(addressOf(request), { since, count: count + 1 })
}
