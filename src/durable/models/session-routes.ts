/** Resolves the routes of a session's turns and caches them for all sessions with the same settings. */

import type { Settings } from '#agent/core/settings.ts'
import type { Turn } from '#agent/core/turn.ts'
import type { Route, Sources } from '#agent/routing/route.ts'
import { learnedSources, sourcesFor } from './catalog.ts'
import { keySource, type TenantKeys } from './credentials.ts'
import { explainMissing, createRoutes } from './model-routes.ts'

/** The parts of a session that routing needs. */
export type RoutedSession = {
  readonly tenantId: string
  readonly settings: Settings
  /** The tenant's keys, and its settings once they are loaded. */
  readonly tenant: { readonly keys: TenantKeys; readonly snapshot: { readonly settings: Settings } | undefined }
  /** Runs work in the background; the platform keeps the object alive for it. */
  readonly runInBackground: (work: Promise<unknown>) => void
}

type CachedRoutes = { readonly inputs: readonly unknown[]; readonly routes: readonly Route[] }

const maxCachedModels = 100
const routesBySettings = new WeakMap<Settings, Map<string, CachedRoutes>>()

function getCache(settings: Settings): Map<string, CachedRoutes> {
  let cache = routesBySettings.get(settings)
  if (!cache) routesBySettings.set(settings, (cache = new Map()))
  return cache
}

export function createSources(session: RoutedSession, env: Env): Sources {
  const { tenantId: id, settings, tenant } = session
  const tenantKeys = keySource(tenant.keys, tenant.snapshot?.settings ?? {})
  return sourcesFor(env, { id, settings, tenantKeys }, (work) => session.runInBackground(work))
}

/** Explains why a turn has no routes. */
export const explainMissingForTurn = (session: RoutedSession, env: Env, { options }: Turn): string =>
  explainMissing(options.model, createSources(session, env))

export function createSessionRoutes(session: RoutedSession, env: Env): (turn: Turn) => readonly Route[] {
  return ({ options }) => {
    const { tenantId, settings, tenant } = session
    const { catalog, learnedWindows } = learnedSources(env, tenantId, (work) => session.runInBackground(work))
    const inputs = [env, tenantId, catalog, learnedWindows, tenant.keys, tenant.snapshot?.settings]
    const cache = getCache(settings)
    const model = options.model ?? ''
    let cached = cache.get(model)
    if (!cached || inputs.some((input, at) => input !== cached?.inputs[at])) {
      cached = { inputs, routes: createRoutes(options.model, createSources(session, env)) }
      if (cache.size >= maxCachedModels) cache.clear()
      cache.set(model, cached)
    }
    return cached.routes
  }
}
