/** Selects among several keys of one provider: orders the usable ones and suspends those that failed. */

import type { FailureKind } from '#agent/core/failure.ts'
import { hash53 } from '#agent/core/hash53.ts'

export type KeyStrategy = 'fill_first' | 'round_robin' | 'random' | 'least_used'

export type KeyHealth = {
  /** The key is suspended until this time; milliseconds since 1970. */
  readonly until: number
  /** The key was revoked and is never used again. */
  readonly dead: boolean
  readonly uses: number
  /** Calls in flight; parallel calls are spread over the keys. */
  readonly active: number
  readonly lastUsed: number
}

export const unusedKey: KeyHealth = { until: 0, dead: false, uses: 0, active: 0, lastUsed: 0 }

export type KeyHealthById = Readonly<Record<string, KeyHealth>>

/** Derives the id of a key. The same key always has the same id, and the id does not reveal the key. */
export const keyIdOf = (key: string): string => `k${hash53(key).toString(36)}`

/** Returns the ids of the usable keys in the order of the strategy. */
export function orderKeys(
  names: readonly string[],
  health: KeyHealthById,
  { strategy, now, random }: { readonly strategy: KeyStrategy; readonly now: number; readonly random: number },
): readonly string[] {
  const healthOf = (name: string) => health[name] ?? unusedKey
  const usable = names.filter((name) => !healthOf(name).dead && healthOf(name).until <= now)
  // Each isolate counts for itself. The random offset spreads turns over the keys before there are counts.
  const offset = Math.floor(random * usable.length)
  const rotated = [...usable.slice(offset), ...usable.slice(0, offset)]
  switch (strategy) {
    case 'fill_first':
      return usable
    case 'round_robin':
      return rotated.toSorted(
        (a, b) => healthOf(a).active - healthOf(b).active || healthOf(a).lastUsed - healthOf(b).lastUsed,
      )
    case 'least_used':
      return rotated.toSorted((a, b) => healthOf(a).active - healthOf(b).active || healthOf(a).uses - healthOf(b).uses)
    case 'random':
      return rotated
  }
}

/** Returns the suspended keys, the one whose suspension ends first in front. For when no key is usable. */
export const orderSuspendedKeys = (names: readonly string[], health: KeyHealthById): readonly string[] =>
  names
    .filter((name) => !(health[name] ?? unusedKey).dead)
    .toSorted((a, b) => (health[a] ?? unusedKey).until - (health[b] ?? unusedKey).until)

const hourMs = 3_600_000
/** Caps a suspension, because some providers name retry times of years. */
const maxSuspensionMs = 24 * hourMs
const suspensionMs: Partial<Record<FailureKind, number>> = { auth: 300_000, rate: hourMs, quota: hourMs }
/** The only key of a provider is retried sooner. */
const onlyKeySuspensionMs = 60_000

/** Returns how long a failure suspends the key; `dead`: for ever; undefined: the key did not cause the failure. */
export function suspensionAfter(
  kind: FailureKind,
  retryAfterMs: number | undefined,
  isOnly: boolean,
): { readonly ms: number } | { readonly dead: true } | undefined {
  if (kind === 'key-dead') return { dead: true }
  const standard = suspensionMs[kind]
  if (standard === undefined) return undefined
  const waitMs = kind === 'auth' ? undefined : retryAfterMs
  return { ms: Math.min(waitMs ?? (isOnly ? Math.min(standard, onlyKeySuspensionMs) : standard), maxSuspensionMs) }
}
