/**
 * Remembers what a model cannot do, as its provider has said: stream, or see images. Each isolate learns it by itself,
 * because a refused request costs nothing.
 */

import { BoundedMap } from '#agent/core/bounded-map.ts'
import type { Failure, FailureKind } from '#agent/core/failure.ts'
import type { Repairs } from '#agent/core/turn.ts'
import type { Route } from '#agent/routing/route.ts'

const repairsByKind: Partial<Record<FailureKind, Repairs>> = {
  'no-stream': { stream: 'off' },
  'no-images': { images: 'unseen' },
}

const learned = new BoundedMap<string, Repairs>(5_000)
const keyOf = (tenantId: string, { id }: Pick<Route, 'id'>) => `${tenantId} ${id}`

/** Records what a failure says about the model. */
export function learnTrait(tenantId: string, route: Pick<Route, 'id'>, failure: Failure | undefined): void {
  const repairs = failure && repairsByKind[failure.kind]
  if (repairs) learned.set(keyOf(tenantId, route), { ...learned.get(keyOf(tenantId, route)), ...repairs })
}

/** The changes that every request to the model needs. */
export function repairsFor(tenantId: string, route: Pick<Route, 'id' | 'facts'>): Repairs {
  const known = learned.get(keyOf(tenantId, route)) ?? noRepairs
  return route.facts?.images === false ? { ...known, images: 'unseen' } : known
}

const noRepairs: Repairs = {}
