/** Finds out whether a model exists, and which usable models have names like its. */

import { countEdits } from '#agent/policy/slash-command/edit-distance.ts'
import { emptyCatalog, isListed, listModelNames } from '#agent/providers/catalog/model-lookup.ts'
import { providers } from '#agent/providers/profiles/providers.ts'
import { findProvider, getMissingRequirement, type Sources } from './availability.ts'
import { getModelRequirement, resolveModelId, resolveRoute, splitModelId } from './route.ts'

/**
 * Whether the model can exist: its provider does, and the list of a provider that lists all its models has it. Names
 * that the settings or the deployment give are never doubted, because lists are up to a day old.
 */
export function isKnownModel(id: string, sources: Sources): boolean {
  const { settings, variables, catalog = emptyCatalog } = sources
  const [name, model] = splitModelId(id)
  const provider = findProvider(name, settings)
  if (!provider?.listsAllModels || variables[provider.baseUrlVariable]?.trim()) return provider !== undefined
  if ([provider.defaultModel, provider.auxModel].includes(model)) return true
  return isListed(catalog, provider.id, model) !== false || isNamed(id, sources)
}

function isNamed(id: string, { settings = {}, variables }: Sources): boolean {
  const named = [settings.model?.default, ...(settings.fallback_providers ?? []), ...Object.keys(settings.models ?? {})]
  const deployed = `${variables['MODEL'] ?? ''},${variables['FALLBACK_MODELS'] ?? ''}`.split(',')
  const asked = resolveModelId(id, settings)
  return [...named, ...deployed].some((one) => one !== undefined && resolveModelId(one.trim(), settings) === asked)
}

/** Explains to people why a model cannot be called or does not exist, with the nearest usable names. */
export function explainUnknownModel(id: string, sources: Sources): string {
  const provider = findProvider(splitModelId(id)[0], sources.settings)
  const missing = provider && getModelRequirement(id, sources)
  const nearest = listNearestModels(id, sources)
  const advice = nearest.length ? `Did you mean ${nearest.join(', ')}? ` : ''
  const start = `The model ${id.slice(0, 200)} is not available here${missing ? `: ${missing}` : ''}. ${advice}`
  return provider && !missing
    ? `${start}No list of ${provider.id} has it; models["${id.slice(0, 200)}"] of the settings makes it known.`
    : `${start}Use talaria, or provider/model of a provider with a key.`
}

/** The models that a person can choose: those with names in the settings, and of each provider that has its key. */
export function listUsableModels(sources: Sources): readonly string[] {
  const { settings = {}, catalog = emptyCatalog } = sources
  const usable = providers.filter((one) => one.id !== 'demo' && !getMissingRequirement(one, sources))
  const named = Object.keys(settings.models ?? {}).filter((name) => resolveRoute(name, sources))
  const listed = usable.flatMap(({ id: name, defaultModel }) =>
    [...(defaultModel ? [defaultModel] : []), ...listModelNames(catalog, name)].map((model) => `${name}/${model}`),
  )
  return [...new Set([...named, ...listed])]
}

const maxNearest = 3

/** The usable models whose names differ in at most a third of their letters, nearest first. */
export function listNearestModels(id: string, sources: Sources): readonly string[] {
  if (id.length > 100) return []
  const [, asked] = splitModelId(id.toLowerCase())
  return listUsableModels(sources)
    .map((name) => ({ name, edits: countEdits(asked, splitModelId(name)[1].toLowerCase()) }))
    .filter(({ name, edits }) => edits <= splitModelId(name)[1].length / 3)
    .toSorted((one, other) => one.edits - other.edits)
    .slice(0, maxNearest)
    .map(({ name }) => name)
}
