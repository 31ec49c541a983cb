/** Decides whether a model can be called, and which are meant by a name that is none. */

import { explainUnknownModel, isKnownModel } from '#agent/routing/known-model.ts'
import { resolveRoute, type Sources } from '#agent/routing/route.ts'
import { resolveMixture } from './mixture-of-agents.ts'
import { isVirtualModel } from './model-routes.ts'

/** Whether there can be such a model. Its key may be missing. */
export const canExist = (id: string, sources: Sources): boolean =>
  isVirtualModel(id) || resolveMixture(id, sources.settings) !== undefined || isKnownModel(id, sources)

/** Explains why a model cannot be called, with the nearest names. Undefined: it can. */
export function explainUnusable(id: string, sources: Sources): string | undefined {
  const isRoutable = isVirtualModel(id) || resolveMixture(id, sources.settings) || resolveRoute(id, sources)
  return isRoutable && canExist(id, sources) ? undefined : explainUnknownModel(id, sources)
}
