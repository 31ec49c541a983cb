/** Which models a turn may use: the request's wish, else the session's, the tenant's, the deployment's; then the fallbacks. */

import type { Settings } from '../agent/model/settings.ts'
import { defaultModel, type ModelFacts, type Route, routeOf, type Variables } from '../agent/wire/route.ts'

/** Names under which clients ask for "the agent" and not for a model of a provider. */
const virtualNames = new Set(['', 'talaria', 'hermes-agent'])

export const isVirtual = (model: string | undefined): boolean => virtualNames.has(model ?? '')

export function routesFor(asked: string | undefined, settings: Settings, variables: Variables): readonly Route[] {
  const primary = isVirtual(asked) ? (settings.model?.default ?? defaultModel(variables)) : (asked ?? '')
  const deployed = (variables['FALLBACK_MODELS'] ?? '').split(',').map((id) => id.trim())
  const ids = [primary, ...(settings.fallback_providers ?? deployed)].filter(Boolean)
  return [...new Set(ids)].flatMap((id) => routeOf(id, variables, factsOf(id, settings)) ?? [])
}

function factsOf(id: string, settings: Settings): ModelFacts {
  const model = settings.models?.[id]
  const prices = model?.prices
  return {
    contextWindow: model?.context_window,
    prices: prices && {
      input: prices.input ?? 0,
      output: prices.output ?? 0,
      cachedRead: prices.cached_read ?? prices.input ?? 0,
      cachedWrite: prices.cached_write ?? prices.input ?? 0,
    },
  }
}
