/** Several keys for one provider: which may be used now, in which order, and how long a bad one rests. */

import type { FailureKind } from '../model/failure.ts'
import { hash53 } from '../model/hash.ts'

export type KeyStrategy = 'fill_first' | 'round_robin' | 'random' | 'least_used'

export type KeyHealth = {
  /** Not before this time; milliseconds since 1970. */
  readonly until: number
  /** Revoked: never again. */
  readonly dead: boolean
  readonly uses: number
  /** Calls under way: children of one turn spread over the keys. */
  readonly active: number
  readonly lastUsed: number
}

export const unusedKey: KeyHealth = { until: 0, dead: false, uses: 0, active: 0, lastUsed: 0 }

export type KeyHealthById = Readonly<Record<string, KeyHealth>>

/** Names a key without being one: for the same key always the same. */
export const keyIdOf = (key: string): string => `k${hash53(key).toString(36)}`

/** Usable keys, the one to take first. */
export function orderKeys(
  names: readonly string[],
  health: KeyHealthById,
  { strategy, now, random }: { readonly strategy: KeyStrategy; readonly now: number; readonly random: number },
): readonly string[] {
  const of = (name: string) => health[name] ?? unusedKey
  const usable = names.filter((name) => !of(name).dead && of(name).until <= now)
  // Counts are those of one isolate: where they say nothing yet, turns begin at different keys all the same.
  const first = Math.floor(random * usable.length)
  const turned = [...usable.slice(first), ...usable.slice(0, first)]
  switch (strategy) {
    case 'fill_first':
      return usable
    case 'round_robin':
      return turned.toSorted((a, b) => of(a).active - of(b).active || of(a).lastUsed - of(b).lastUsed)
    case 'least_used':
      return turned.toSorted((a, b) => of(a).active - of(b).active || of(a).uses - of(b).uses)
    case 'random':
      return turned
  }
}

/** When no key is usable: those that are not dead, the one that is free again first in front. */
export const orderSuspendedKeys = (names: readonly string[], health: KeyHealthById): readonly string[] =>
  names
    .filter((name) => !(health[name] ?? unusedKey).dead)
    .toSorted((a, b) => (health[a] ?? unusedKey).until - (health[b] ?? unusedKey).until)

const hourMs = 3_600_000
/** Longest time that a provider's word keeps a key away: some say years. */
const maxSuspensionMs = 24 * hourMs
const suspensionMs: Partial<Record<FailureKind, number>> = { auth: 300_000, rate: hourMs, quota: hourMs }
/** A key without another is tried again soon. */
const onlyKeySuspensionMs = 60_000

/** How long a key rests after a failure; `dead` for ever, undefined: the key is not to blame. */
export function suspensionAfter(
  kind: FailureKind,
  retryAfterMs: number | undefined,
  isOnly: boolean,
): { readonly ms: number } | { readonly dead: true } | undefined {
  if (kind === 'key-dead') return { dead: true }
  const standard = suspensionMs[kind]
  if (standard === undefined) return undefined
  const told = kind === 'auth' ? undefined : retryAfterMs
  return { ms: Math.min(told ?? (isOnly ? Math.min(standard, onlyKeySuspensionMs) : standard), maxSuspensionMs) }
}
