/**
 * Learns context windows of models that no catalog describes, from prompts that were too long. A window is used at once
 * in this isolate, stored by the tenant's object, and used elsewhere after its next snapshot.
 */

import { BoundedMap } from '#agent/core/bounded-map.ts'
import type { Failure } from '#agent/core/failure.ts'
import { nextWindow } from '#agent/providers/catalog/context-window.ts'
import type { Route } from '#agent/routing/route.ts'

/** Tokens by model id. */
export type Windows = Readonly<Record<string, number>>

const windowsByTenant = new BoundedMap<string, Windows>(5_000)
const noWindows: Windows = {}

/** Returns the same object until a window changes, so that callers can compare by identity. */
export const getLearnedWindows = (tenantId: string): Windows => windowsByTenant.get(tenantId) ?? noWindows

/** Merges the windows that other isolates have learned. The smaller value is the later one. */
export function mergeWindows(tenantId: string, stored: Windows = noWindows): void {
  const cached = getLearnedWindows(tenantId)
  const smaller = Object.entries(stored).filter(([id, window]) => window < (cached[id] ?? Infinity))
  if (!smaller.length) return
  windowsByTenant.set(tenantId, { ...cached, ...Object.fromEntries(smaller) })
}

/** Lowers the window after a prompt was too long. Undefined when a catalog states the window, or it cannot be lower. */
export function learnWindow(tenantId: string, { id, windowSource, contextWindow }: Route, failure: Failure) {
  if (failure.kind !== 'too-long' || windowSource !== 'probe') return undefined
  const window = nextWindow(contextWindow, failure.message)
  if (window !== undefined) mergeWindows(tenantId, { [id]: window })
  return window
}
