/** The routes of a session: made once for all sessions with the same settings, and again when something changes. */

import type { Settings } from '../../agent/model/settings.ts'
import type { Turn } from '../../agent/model/turn.ts'
import type { Route, Sources } from '../../agent/routing/route.ts'
import { sourcesFor } from './catalog.ts'
import { keySource, type TenantKeys } from './credentials.ts'
import { missingFor, routesFor } from './model-routes.ts'

/** What a session must offer to have its routes resolved. */
export type RoutedSession = {
  readonly tenantId: string
  readonly settings: Settings
  /** The keys of the tenant, and its settings once they have been read. */
  readonly known: { readonly keys: TenantKeys; readonly snapshot: { readonly settings: Settings } | undefined }
  /** Runs work in the background; the platform keeps the object alive for it. */
  readonly later: (work: Promise<unknown>) => void
}

type Cached = { readonly of: readonly unknown[]; readonly routes: readonly Route[] }

const mostModels = 100
const bySettings = new WeakMap<Settings, Map<string, Cached>>()

function madeFrom(settings: Settings): Map<string, Cached> {
  let made = bySettings.get(settings)
  if (!made) bySettings.set(settings, (made = new Map()))
  return made
}

function sourcesOf(core: RoutedSession, env: Env): Sources {
  const { tenantId: id, settings, known: tenant } = core
  const tenantKeys = keySource(tenant.keys, tenant.snapshot?.settings ?? {})
  return sourcesFor(env, { id, settings, tenantKeys }, (work) => core.later(work))
}

/** Why a turn has no routes. */
export const missingForTurn = (core: RoutedSession, env: Env, { options }: Turn): string =>
  missingFor(options.model, sourcesOf(core, env))

export function sessionRoutes(core: RoutedSession, env: Env): (turn: Turn) => readonly Route[] {
  return ({ options }) => {
    const { tenantId, settings, known: tenant } = core
    const sources = sourcesOf(core, env)
    const of = [env, tenantId, sources.catalog, sources.learnt, tenant.keys, tenant.snapshot?.settings]
    const made = madeFrom(settings)
    const asked = options.model ?? ''
    let known = made.get(asked)
    if (!known || of.some((part, at) => part !== known?.of[at])) {
      known = { of, routes: routesFor(options.model, sources) }
      if (made.size >= mostModels) made.clear()
      made.set(asked, known)
    }
    return known.routes
  }
}
