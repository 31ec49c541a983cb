/**
 * Tracks the health of provider keys for all sessions of a tenant. A suspended key is skipped at once in this isolate,
 * stored by the tenant's object, and skipped elsewhere after the next snapshot. Uses and open calls are counted per
 * isolate, which is enough to spread load.
 */

import { BoundedMap } from '#agent/core/bounded-map.ts'
import type { Failure, FailureKind } from '#agent/core/failure.ts'
import { unusedKey, type KeyHealthById, type KeyHealth, suspensionAfter } from '#agent/routing/key-selection.ts'

/** Suspended and dead keys as the tenant's object stores them, with the failure that caused it. */
export type StoredKeyHealth = Readonly<
  Record<string, { readonly until: number; readonly dead: boolean; readonly why?: FailureKind }>
>

const pools = new BoundedMap<string, Map<string, KeyHealth>>(5_000)

function getPool(tenantId: string): Map<string, KeyHealth> {
  const existing = pools.get(tenantId)
  if (existing) return existing
  const pool = new Map<string, KeyHealth>()
  pools.set(tenantId, pool)
  return pool
}

export const getHealth = (tenantId: string): KeyHealthById => Object.fromEntries(getPool(tenantId))

/** Merges the health that other isolates have reported. */
export function mergeHealth(tenantId: string, stored: StoredKeyHealth): void {
  const pool = getPool(tenantId)
  for (const [name, { until, dead }] of Object.entries(stored)) {
    const current = pool.get(name) ?? unusedKey
    pool.set(name, { ...current, until: Math.max(current.until, until), dead: current.dead || dead })
  }
}

/** Counts a call that uses the key. The returned function ends it. */
export function leaseKey(tenantId: string, name: string, now: number): () => void {
  const pool = getPool(tenantId)
  const before = pool.get(name) ?? unusedKey
  pool.set(name, { ...before, uses: before.uses + 1, active: before.active + 1, lastUsed: now })
  return () => {
    const after = pool.get(name) ?? unusedKey
    pool.set(name, { ...after, active: Math.max(0, after.active - 1) })
  }
}

/** Stalled calls in a row by model, in this isolate. */
const stalls = new BoundedMap<string, number>(5_000)
const modelKey = (tenantId: string, modelId: string) => `${tenantId} ${modelId}`

export const getStalls = (tenantId: string, modelId: string): number => stalls.get(modelKey(tenantId, modelId)) ?? 0

/** Counts a stalled call. An answer or another failure resets the count. */
export function recordOutcome(tenantId: string, modelId: string, failure: Failure | undefined): void {
  // A person cancelled the call: the model is not to blame.
  if (failure?.kind === 'aborted') return
  const key = modelKey(tenantId, modelId)
  if (failure?.kind !== 'stalled') return void stalls.delete(key)
  const before = getStalls(tenantId, modelId)
  stalls.set(key, before + 1)
}

/**
 * Suspends a key that caused a failure and returns its new state. Undefined when the key is not to blame. `isBorrowed`:
 * a fallback used a key of the first model; a rate limit of the fallback does not suspend it for the first model.
 */
export function suspendKey(
  tenantId: string,
  name: string,
  failure: Failure,
  {
    now,
    isOnly,
    isBorrowed = false,
  }: { readonly now: number; readonly isOnly: boolean; readonly isBorrowed?: boolean },
): StoredKeyHealth[string] | undefined {
  if (isBorrowed && failure.kind === 'rate') return undefined
  const rest = suspensionAfter(failure.kind, failure.retryAfterMs, isOnly)
  if (!rest) return undefined
  const state = 'dead' in rest ? { until: 0, dead: true } : { until: now + rest.ms, dead: false }
  const pool = getPool(tenantId)
  pool.set(name, { ...(pool.get(name) ?? unusedKey), ...state })
  return { ...state, why: failure.kind }
}
