/** Resolves the models of a turn: of the request, else the session, the tenant or the deployment; then the fallbacks. */

import type { View } from '#agent/core/ports.ts'
import type { Settings } from '#agent/core/settings.ts'
import type { Turn } from '#agent/core/turn.ts'
import { orderKeys, orderSuspendedKeys, type KeyStrategy } from '#agent/routing/key-selection.ts'
import { getModelRequirement, type Route, resolveRoute, type Sources } from '#agent/routing/route.ts'
import { resolveDefaultModel } from '#agent/routing/default-model.ts'
import { getHealth } from './key-pool.ts'
import { clock } from '#durable/platform/clock.ts'

/** Model names that mean the agent and not a model of a provider. */
const virtualNames = new Set(['', 'talaria', 'hermes-agent'])

export const isVirtualModel = (model: string | undefined): boolean => virtualNames.has(model ?? '')

/** Lists the ids of the chosen model and its fallbacks, available or not. */
export function listModelIds(model: string | undefined, sources: Sources): readonly string[] {
  const { settings = {}, variables } = sources
  const primary = isVirtualModel(model) ? (settings.model?.default ?? resolveDefaultModel(sources)) : (model ?? '')
  const deployed = (variables['FALLBACK_MODELS'] ?? '').split(',').map((id) => id.trim())
  return [primary, ...(settings.fallback_providers ?? deployed)].filter(Boolean)
}

export function createRoutes(model: string | undefined, sources: Sources): readonly Route[] {
  const ids = listModelIds(model, sources)
  const routes = new Map(ids.flatMap((id) => resolveRoute(id, sources) ?? []).map((route) => [route.id, route]))
  return [...routes.values()]
}

/** Explains for each named model why it cannot be called. */
export const explainMissing = (model: string | undefined, sources: Sources): string =>
  listModelIds(model, sources)
    .flatMap((id) => {
      const missing = getModelRequirement(id, sources)
      return missing === undefined ? [] : [`${id}: ${missing}`]
    })
    .join('; ')

/**
 * Lists the models with their usable keys. When every key is suspended, it lists the keys whose suspension ends first.
 */
export function createChain(routes: readonly Route[], tenantId: string, settings: Settings, turn: Turn): View['chain'] {
  if (routes.every(({ endpoints }) => endpoints.length === 1 && !endpoints[0]?.key)) return routes.map(withAllKeys)
  const health = getHealth(tenantId)
  const now = clock.now()
  const chain = routes.map(({ id, provider, endpoints, overloadMs, tenantKeyCount: ownKeys = 0 }) => {
    const strategy: KeyStrategy = settings.credential_pool?.[provider]?.strategy ?? 'fill_first'
    const names = endpoints.map((endpoint) => endpoint.id)
    const ordered = (ids: readonly string[]) => orderKeys(ids, health, { strategy, now, random: randomOf(turn) })
    return { id, names, overloadMs, keys: [...ordered(names.slice(0, ownKeys)), ...ordered(names.slice(ownKeys))] }
  })
  if (chain.some(({ keys }) => keys.length)) return chain
  return chain.map(({ id, names, overloadMs }) => ({ id, overloadMs, keys: orderSuspendedKeys(names, health) }))
}

const withAllKeys = ({ id, endpoints }: Route) => ({ id, keys: endpoints.map((endpoint) => endpoint.id) })

/** Returns a number from 0 to 1 that is constant within a turn, so that a random strategy keeps its key. */
const randomOf = (turn: Turn): number => (Number.parseInt(turn.id.slice(-6), 16) % 1_000) / 1_000 || 0
