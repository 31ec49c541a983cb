/**
 * Windows of models that nobody describes, found out by asking for too much. Known at once in this isolate, kept by
 * the tenant's object, and known elsewhere with its next snapshot.
 */

import { Bounded } from '../../agent/model/bounded.ts'
import type { Failure } from '../../agent/model/failure.ts'
import { nextWindow } from '../../agent/providers/catalog/probe.ts'
import type { Route } from '../../agent/routing/route.ts'

export type Windows = Readonly<Record<string, number>>

const learnt = new Bounded<string, Windows>(5_000)
const none: Windows = {}

/** The same object as long as nothing was learnt, so that it can be compared. */
export const learntWindows = (tenantId: string): Windows => learnt.get(tenantId) ?? none

/** Takes over what other isolates have found out: the smaller one is the later one. */
export function takeWindows(tenantId: string, kept: Windows = none): void {
  const known = learntWindows(tenantId)
  const news = Object.entries(kept).filter(([id, window]) => window < (known[id] ?? Infinity))
  if (!news.length) return
  learnt.set(tenantId, { ...known, ...Object.fromEntries(news) })
}

/** A prompt that should have fitted did not. Undefined when the window is known from somebody, or cannot be less. */
export function learnWindow(tenantId: string, { id, source, contextWindow }: Route, failure: Failure) {
  if (failure.kind !== 'too-long' || source !== 'probe') return undefined
  const window = nextWindow(contextWindow, failure.message)
  if (window !== undefined) takeWindows(tenantId, { [id]: window })
  return window
}
