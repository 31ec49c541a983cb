/**
 * Replaces the secret of a generic webhook. The earlier one is accepted for a day more, so that its sender can change
 * without a gap. All are sealed as one value.
 */

import type { Secrets } from '#channels/channel.ts'

const overlapMs = 24 * 3_600_000

/** Only one earlier secret is kept: a second replacement ends the first secret at once. */
export function replaceSecret(stored: Secrets, secret: string, now: number): Secrets {
  const { secret: previous } = stored
  if (previous === secret) return stored
  return { secret, ...(previous !== undefined && { previous, previous_until: String(now + overlapMs) }) }
}

/** The secrets with which a request may be signed now. */
export function listSecrets({ secret, previous, previous_until: until }: Secrets, now: number): readonly string[] {
  const earlier = Number(until) > now ? previous : undefined
  return [secret, earlier].flatMap((one) => one ?? [])
}
