/** Refuses settings that name models which do not exist. It is loaded with the first change of settings. */

import { mergeSettings, type Settings } from '#agent/core/settings.ts'
import { findProvider } from '#agent/routing/availability.ts'
import { explainUnknownModel } from '#agent/routing/known-model.ts'
import { type Sources, splitModelId } from '#agent/routing/route.ts'
import { sourcesFor } from '#durable/models/catalog.ts'
import { canExist } from '#durable/models/usable-model.ts'
import type { TenantSnapshot } from '#durable/tenant/tenant-snapshot.ts'
import { AppError } from '../errors.ts'

type Named = readonly [param: string, id: string | null | undefined]

/**
 * Checks the models that a patch of settings names, with the providers, models and mixtures that it adds. A value of the
 * patch may be null. `tenant` has the settings as they are. A key may be missing: it can come later.
 */
export function requireKnownModels(patch: object, env: Env, tenant: Pick<TenantSnapshot, 'id' | 'settings'>): void {
  const { models, providers, moa } = patch as Settings
  const settings = mergeSettings(tenant.settings, { models: models ?? {}, providers: providers ?? {}, moa: moa ?? {} })
  const sources = sourcesFor(env, { id: tenant.id, settings })
  const stored = new Set(listNamed(tenant.settings).map(String))
  for (const [param, id] of listNamed(patch as Settings)) {
    if (!id || stored.has(String([param, id])) || isAllowed(param, id, sources)) continue
    throw new AppError(404, 'model_not_found', explainUnknownModel(id, sources), { param })
  }
}

const embeddings = 'search.embedding_model'

/** Lists of models leave out those that embed texts. */
function isAllowed(param: string, id: string, sources: Sources): boolean {
  if (param === embeddings) return findProvider(splitModelId(id)[0], sources.settings) !== undefined
  return canExist(id, sources)
}

/** The models that are asked. `models` describes others, which need not exist yet. */
function listNamed(patch: Settings): readonly Named[] {
  const { model, delegation, learning, moa, search } = patch
  const named: readonly Named[] = [
    ['model.default', model?.default],
    ['delegation.model', delegation?.model],
    ['learning.model', learning?.model],
    [embeddings, search?.embedding_model],
    ...listOf('fallback_providers', patch.fallback_providers),
  ]
  const tasks = Object.entries(patch.auxiliary ?? {}).flatMap(([task, side]): readonly Named[] => [
    [`auxiliary.${task}.model`, side?.model],
    ...listOf(`auxiliary.${task}.fallback_providers`, side?.fallback_providers),
  ])
  const presets = Object.entries(moa?.presets ?? {}).flatMap(([name, preset]): readonly Named[] => [
    [`moa.presets.${name}.aggregator`, preset?.aggregator],
    ...listOf(`moa.presets.${name}.references`, preset?.references),
  ])
  return [...named, ...tasks, ...presets]
}

const listOf = (param: string, ids: readonly string[] | null | undefined): readonly Named[] =>
  (ids ?? []).map((id) => [param, id] as const)
