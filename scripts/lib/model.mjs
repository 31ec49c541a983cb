// Says which model answers under `npm start` and from which setting, and refuses a setting that cannot work.
import { resolveDefaultModel } from '../../src/agent/routing/default-model.ts'
import { findProvider, getMissingRequirement } from '../../src/agent/routing/availability.ts'
import { getModelRequirement, splitModelId } from '../../src/agent/routing/route.ts'
import { similarity } from '../../src/tools/file/similarity.ts'
import { providers } from '../../src/agent/providers/profiles/providers.ts'

const isSet = (settings, name) => Boolean(settings[name]?.trim())

/** The hint about keys in the database is for people who have a running server. */
const withoutStoredKeys = (reason) => reason.replace(/, or store a key .*$/, '')

/** Providers and mixtures that only the settings of a tenant define are not known here. */
const isOfSettings = (model) => /^(custom:|moa\/)/.test(model)

function explainUnusable(model, settings) {
  if (isOfSettings(model)) return undefined
  const [name] = splitModelId(model)
  if (!name) return `write it as provider/model, for example openai/${model}`
  const missing = getModelRequirement(model, { variables: settings })
  if (missing?.startsWith('there is no provider')) return `there is no provider "${name}"${suggestProvider(name)}`
  return missing && withoutStoredKeys(missing)
}

const minSuggestedSimilarity = 0.6

/** Names the provider that was probably meant. */
function suggestProvider(name) {
  const scored = providers.map(({ id }) => ({ id, score: similarity(id, name.toLowerCase()) }))
  const [best] = scored.toSorted((one, other) => other.score - one.score)
  return best && best.score >= minSuggestedSimilarity ? `; did you mean ${best.id}?` : ''
}

/** Names the variables of a provider that are set. */
function findSource({ keys, keyParts = [], baseUrlVariable, binding }, settings) {
  if (binding) return `the binding ${binding}`
  return [...keys, ...keyParts, baseUrlVariable].find((name) => isSet(settings, name))
}

/** Throws when MODEL, or the only provider that is set up, cannot be used. */
export function describeModel(settings) {
  const model = resolveDefaultModel({ variables: settings })
  if (isSet(settings, 'MODEL')) {
    const reason = explainUnusable(model, settings)
    if (reason) throw new Error(`MODEL=${model} cannot be used: ${reason}.\n${howToSet}`)
    return { model, why: 'from MODEL' }
  }
  const [name, id] = splitModelId(model)
  const provider = findProvider(name)
  if (name === 'demo')
    return {
      model,
      why: 'a stand-in made of rules, because no provider is set up. With a key: OPENAI_API_KEY=sk-… npm start',
    }
  const source = findSource(provider, settings)
  if (id) return { model, why: `from ${source}; MODEL=provider/model chooses another one` }
  // Only the public catalog knows its models, and the server fetches that later.
  if (provider.catalog && settings.MODEL_CATALOG_URL !== 'off')
    return { model: name, why: `from ${source}; its cheapest known model answers, MODEL=${name}/NAME chooses one` }
  throw new Error(`${source} is set, but no model of ${name} is known: set MODEL=${name}/NAME.\n${howToSet}`)
}

const howToSet =
  'Settings stand before the command (NAME=value npm start) or in .dev.vars. docs/providers.md lists the providers and their variables.'

/** Lists settings of models that have no effect as they are. */
export function listModelWarnings(settings) {
  const fallbacks = (settings.FALLBACK_MODELS ?? '').split(',').map((id) => id.trim())
  const named = [...fallbacks.map((id) => ['FALLBACK_MODELS', id]), ['AUX_MODEL', settings.AUX_MODEL?.trim()]]
  const models = named.flatMap(([name, id]) => {
    const reason = id && id !== 'none' ? explainUnusable(id, settings) : undefined
    return reason ? [`${name}: ${id} is skipped: ${reason}`] : []
  })
  const half = providers.flatMap((provider) => {
    const missing = getMissingRequirement(provider, { variables: settings })
    const source = missing && !provider.binding && findSource(provider, settings)
    return source ? [`${source} has no effect yet: ${withoutStoredKeys(missing)}`] : []
  })
  return [...models, ...half]
}
