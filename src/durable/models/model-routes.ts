/** Which models a turn may use: the request's wish, else the session's, the tenant's, the deployment's; then the fallbacks. */

import type { View } from '../../agent/model/ports.ts'
import type { Settings } from '../../agent/model/settings.ts'
import type { Turn } from '../../agent/model/turn.ts'
import { orderKeys, soonest, type Strategy } from '../../agent/routing/credentials.ts'
import { defaultModel, missingForModel, type Route, routeOf, type Sources } from '../../agent/routing/route.ts'
import { healthOf } from './key-pool.ts'
import { clock } from '../platform/clock.ts'

/** Names under which clients ask for "the agent" and not for a model of a provider. */
const virtualNames = new Set(['', 'talaria', 'hermes-agent'])

export const isVirtual = (model: string | undefined): boolean => virtualNames.has(model ?? '')

/** The model that is asked for and those that stand in for it, whether they can be asked or not. */
export function namesFor(asked: string | undefined, sources: Sources): readonly string[] {
  const { settings = {}, variables } = sources
  const primary = isVirtual(asked) ? (settings.model?.default ?? defaultModel(sources)) : (asked ?? '')
  const deployed = (variables['FALLBACK_MODELS'] ?? '').split(',').map((id) => id.trim())
  return [primary, ...(settings.fallback_providers ?? deployed)].filter(Boolean)
}

export function routesFor(asked: string | undefined, sources: Sources): readonly Route[] {
  const ids = namesFor(asked, sources)
  const routes = new Map(ids.flatMap((id) => routeOf(id, sources) ?? []).map((route) => [route.id, route]))
  return [...routes.values()]
}

/** Of every model that was named: what is missing for it. */
export const missingFor = (asked: string | undefined, sources: Sources): string =>
  namesFor(asked, sources)
    .flatMap((id) => {
      const missing = missingForModel(id, sources)
      return missing === undefined ? [] : [`${id}: ${missing}`]
    })
    .join('; ')

/** The models with the keys that may be used now; when every key of all of them rests, those that are free again soonest. */
export function chainOf(routes: readonly Route[], tenantId: string, settings: Settings, turn: Turn): View['chain'] {
  if (routes.every(({ endpoints }) => endpoints.length === 1 && !endpoints[0]?.key)) return routes.map(keyless)
  const health = healthOf(tenantId)
  const now = clock.now()
  const chain = routes.map(({ id, provider, endpoints, overloadMs, ownKeys = 0 }) => {
    const strategy: Strategy = settings.credential_pool?.[provider]?.strategy ?? 'fill_first'
    const names = endpoints.map((endpoint) => endpoint.id)
    const ordered = (some: readonly string[]) => orderKeys(some, health, { strategy, now, random: randomOf(turn) })
    return { id, names, overloadMs, keys: [...ordered(names.slice(0, ownKeys)), ...ordered(names.slice(ownKeys))] }
  })
  if (chain.some(({ keys }) => keys.length)) return chain
  return chain.map(({ id, names, overloadMs }) => ({ id, overloadMs, keys: soonest(names, health) }))
}

const keyless = ({ id, endpoints }: Route) => ({ id, keys: endpoints.map((endpoint) => endpoint.id) })

/** The same for one turn, so that a random choice stays with its key. */
const randomOf = (turn: Turn): number => (Number.parseInt(turn.id.slice(-6), 16) % 1_000) / 1_000 || 0
