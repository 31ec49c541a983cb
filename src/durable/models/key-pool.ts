/**
 * The state of provider keys, shared by all sessions of a tenant. What a call finds out about a key is
 * known at once in this isolate, kept by the tenant's object, and known elsewhere with its next
 * snapshot. Uses and calls under way are counted per isolate: good enough to spread load.
 */

import { Bounded } from '../../agent/model/bounded.ts'
import type { Failure, FailureKind } from '../../agent/model/failure.ts'
import { fresh, type Health, type KeyHealth, restAfter } from '../../agent/routing/credentials.ts'

/** What the tenant's object keeps: only keys that rest or are dead, and after which failure. */
export type KeptHealth = Readonly<
  Record<string, { readonly until: number; readonly dead: boolean; readonly why?: FailureKind }>
>

const pools = new Bounded<string, Map<string, KeyHealth>>(5_000)

function poolOf(tenantId: string): Map<string, KeyHealth> {
  const known = pools.get(tenantId)
  if (known) return known
  const pool = new Map<string, KeyHealth>()
  pools.set(tenantId, pool)
  return pool
}

export const healthOf = (tenantId: string): Health => Object.fromEntries(poolOf(tenantId))

/** Takes over what other isolates have found out. */
export function learnHealth(tenantId: string, kept: KeptHealth): void {
  const pool = poolOf(tenantId)
  for (const [name, { until, dead }] of Object.entries(kept)) {
    const known = pool.get(name) ?? fresh
    pool.set(name, { ...known, until: Math.max(known.until, until), dead: known.dead || dead })
  }
}

/** A call begins; the returned function says that it has ended. */
export function leaseKey(tenantId: string, name: string, now: number): () => void {
  const pool = poolOf(tenantId)
  const before = pool.get(name) ?? fresh
  pool.set(name, { ...before, uses: before.uses + 1, active: before.active + 1, lastUsed: now })
  return () => {
    const after = pool.get(name) ?? fresh
    pool.set(name, { ...after, active: Math.max(0, after.active - 1) })
  }
}

/** Models that say nothing: how often in a row, in this isolate. An answer, or another failure, begins anew. */
const stalls = new Bounded<string, number>(5_000)
const modelKey = (tenantId: string, modelId: string) => `${tenantId} ${modelId}`

export const stallsOf = (tenantId: string, modelId: string): number => stalls.get(modelKey(tenantId, modelId)) ?? 0

export function countStalls(tenantId: string, modelId: string, failure: Failure | undefined): void {
  // What was cancelled by a person says nothing about the model.
  if (failure?.kind === 'aborted') return
  const key = modelKey(tenantId, modelId)
  if (failure?.kind !== 'stalled') return void stalls.delete(key)
  const before = stallsOf(tenantId, modelId)
  stalls.set(key, before + 1)
}

/**
 * Benches a key that failed, where the key is to blame. Undefined when it is not: a limit that a fallback
 * ran into on a key it shares with the first model (`isBorrowed`) is no reason not to ask the first one again.
 */
export function benchKey(
  tenantId: string,
  name: string,
  failure: Failure,
  {
    now,
    isOnly,
    isBorrowed = false,
  }: { readonly now: number; readonly isOnly: boolean; readonly isBorrowed?: boolean },
): KeptHealth[string] | undefined {
  if (isBorrowed && failure.kind === 'rate') return undefined
  const rest = restAfter(failure.kind, failure.retryAfterMs, isOnly)
  if (!rest) return undefined
  const state = 'dead' in rest ? { until: 0, dead: true } : { until: now + rest.ms, dead: false }
  const pool = poolOf(tenantId)
  pool.set(name, { ...(pool.get(name) ?? fresh), ...state })
  return { ...state, why: failure.kind }
}
