/** Validates the model that a request names, with the settings of the tenant and of the session. */

import type { Settings } from '#agent/core/settings.ts'
import { minWindow } from '#agent/providers/catalog/context-window.ts'
import { explainUnknownModel, isKnownModel } from '#agent/routing/known-model.ts'
import { type Route, resolveRoute, type Sources } from '#agent/routing/route.ts'
import { sourcesFor } from '#durable/models/catalog.ts'
import { cachedKeys } from '#durable/models/credentials.ts'
import { resolveMixture } from '#durable/models/mixture-of-agents.ts'
import { isVirtualModel, listModelIds } from '#durable/models/model-routes.ts'
import { effectiveSettings, type TenantSnapshot } from '#durable/tenant/tenant-snapshot.ts'
import { AppError } from '../errors.ts'

/** A window from the settings overrides this check, and a guessed window does not count. */
export const hasTooSmallWindow = ({ contextWindow, windowSource }: Route): boolean =>
  contextWindow < minWindow && windowSource !== 'settings' && windowSource !== 'probe'

/**
 * Validates the model of a request. Undefined means the default. Throws for unknown models, providers without a key and
 * models with a context window that is too small.
 */
export function resolveRequestedModel(id: string | undefined, env: Env, tenant?: TenantSnapshot, param = 'model') {
  const sources = sourcesFor(env, tenant)
  const model = isVirtualModel(id) ? undefined : id
  const { settings, catalog, learnedWindows } = sources
  const inputs = [env, catalog, learnedWindows, tenant && cachedKeys(tenant.id)]
  const known = accepted.get(settings ?? {})
  if (known?.model === model && known?.inputs.every((input, at) => input === inputs[at])) return model
  validateModel(model, sources, param)
  if (settings) accepted.set(settings, { model, inputs })
  return model
}

/** The last model that was accepted with these settings: most requests of a tenant name the same one, or none. */
const accepted = new WeakMap<Settings, { readonly model: string | undefined; readonly inputs: readonly unknown[] }>()

function validateModel(model: string | undefined, sources: Sources, param: string): void {
  const [name = ''] = listModelIds(resolveMixture(model, sources.settings)?.aggregator ?? model, sources)
  const found = resolveRoute(name, sources)
  if (found && hasTooSmallWindow(found)) throw smallWindowError(found, param)
  if (model !== undefined && !(found && isKnownModel(name, sources))) throw modelNotFound(name, sources, param)
}

const modelNotFound = (id: string, sources: Sources, param: string) =>
  new AppError(404, 'model_not_found', explainUnknownModel(id, sources), { param })

export const explainSmallWindow = ({ id, contextWindow }: Route) =>
  `${id} has a context window of ${contextWindow} tokens; ${minWindow} are needed. Choose another model, or correct models["${id}"].context_window.`

const smallWindowError = (one: Route, param: string) =>
  new AppError(400, 'unsupported', explainSmallWindow(one), { param })

/** The tenant with a session's settings merged over its own. */
export const mergeSessionSettings = (tenant: TenantSnapshot, settings: Settings | undefined): TenantSnapshot =>
  settings ? { ...tenant, settings: effectiveSettings(tenant.settings, settings, true) } : tenant
