/** Validates the model that a request names, with the settings of the tenant and of the session. */

import type { Settings } from '#agent/core/settings.ts'
import { minWindow } from '#agent/providers/catalog/context-window.ts'
import { countEdits } from '#agent/policy/slash-command/edit-distance.ts'
import { emptyCatalog, listModelNames } from '#agent/providers/catalog/model-lookup.ts'
import { providers } from '#agent/providers/profiles/providers.ts'
import { findProvider, getMissingRequirement } from '#agent/routing/availability.ts'
import { getModelRequirement, type Route, resolveRoute, type Sources, splitModelId } from '#agent/routing/route.ts'
import { sourcesFor } from '#durable/models/catalog.ts'
import { resolveMixture } from '#durable/models/mixture-of-agents.ts'
import { isVirtualModel, listModelIds } from '#durable/models/model-routes.ts'
import { effectiveSettings, type TenantSnapshot } from '#durable/tenant/tenant-snapshot.ts'
import { AppError } from '../errors.ts'

/** A window from the settings overrides this check, and a guessed window does not count. */
export const hasTooSmallWindow = ({ contextWindow, windowSource }: Route): boolean =>
  contextWindow < minWindow && windowSource !== 'settings' && windowSource !== 'probe'

/**
 * Validates the model of a request. Undefined means the default. Throws for unknown providers, providers without a key
 * and models with a context window that is too small.
 */
export function resolveRequestedModel(id: string | undefined, env: Env, tenant?: TenantSnapshot, param = 'model') {
  const sources = sourcesFor(env, tenant)
  const model = isVirtualModel(id) ? undefined : id
  const [name = ''] = listModelIds(resolveMixture(model, sources.settings)?.aggregator ?? model, sources)
  const found = resolveRoute(name, sources)
  if (found && hasTooSmallWindow(found)) throw smallWindowError(found, param)
  if (model !== undefined && !found) throw modelNotFound(name, sources, param)
  return model
}

function modelNotFound(id: string, sources: Sources, param: string): AppError {
  const provider = findProvider(splitModelId(id)[0], sources.settings)
  const missing = provider && getModelRequirement(id, sources)
  const nearest = listNearestModels(id, sources)
  const advice = nearest.length ? `Did you mean ${nearest.join(', ')}? ` : ''
  return new AppError(
    404,
    'model_not_found',
    `The model ${id.slice(0, 200)} is not available here${missing ? `: ${missing}` : ''}. ${advice}Use talaria, or provider/model of a provider with a key.`,
    { param },
  )
}

const maxNearest = 3

/** The usable models whose names differ in at most a third of their letters, nearest first. */
function listNearestModels(id: string, sources: Sources): readonly string[] {
  if (id.length > 100) return []
  const { settings = {}, catalog = emptyCatalog } = sources
  const usable = providers.filter((one) => one.id !== 'demo' && !getMissingRequirement(one, sources))
  const named = Object.keys(settings.models ?? {}).filter((name) => resolveRoute(name, sources))
  const listed = usable.flatMap(({ id: name, defaultModel }) =>
    [...(defaultModel ? [defaultModel] : []), ...listModelNames(catalog, name)].map((model) => `${name}/${model}`),
  )
  const [, asked] = splitModelId(id.toLowerCase())
  return [...new Set([...named, ...listed])]
    .map((name) => ({ name, edits: countEdits(asked, splitModelId(name)[1].toLowerCase()) }))
    .filter(({ name, edits }) => edits <= splitModelId(name)[1].length / 3)
    .toSorted((one, other) => one.edits - other.edits)
    .slice(0, maxNearest)
    .map(({ name }) => name)
}

export const explainSmallWindow = ({ id, contextWindow }: Route) =>
  `${id} has a context window of ${contextWindow} tokens; ${minWindow} are needed. Choose another model, or correct models["${id}"].context_window.`

const smallWindowError = (one: Route, param: string) =>
  new AppError(400, 'unsupported', explainSmallWindow(one), { param })

/** The tenant with a session's settings merged over its own. */
export const mergeSessionSettings = (tenant: TenantSnapshot, settings: Settings | undefined): TenantSnapshot =>
  settings ? { ...tenant, settings: effectiveSettings(tenant.settings, settings, true) } : tenant
