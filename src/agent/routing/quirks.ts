/** The quirks of a route: what its model is known for, below what its provider's profile says. */

import type { DialectName, Quirks } from '../model/dialect.ts'
import type { Settings } from '../model/settings.ts'
import type { ModelFacts } from '../providers/catalog/model-facts.ts'

/** More is not asked for unless somebody names a number. */
const maxDefaultOutputTokens = 128_000

export function resolveQuirks(
  dialect: DialectName,
  model: string,
  facts: ModelFacts,
  { profile, maxOutput }: { readonly profile: Quirks; readonly maxOutput?: number | undefined },
): Quirks {
  const reasoning = resolveReasoning(dialect, facts, profile.reasoning)
  return {
    ...(facts.efforts && { efforts: facts.efforts }),
    ...(facts.temperature === false && { temperature: 'omitted' as const }),
    ...(dialect === 'anthropic' && facts.maxOutput && { defaultMaxTokens: Math.min(facts.maxOutput, maxDefaultOutputTokens) }),
    ...(dialect === 'anthropic' && cacheMarkModels.test(model) && { cacheMarks: 'native' as const }),
    ...profile,
    ...(reasoning && { reasoning }),
    ...(maxOutput && { defaultMaxTokens: maxOutput }),
  }
}

/** Of those that speak Anthropic's dialect, the ones that read its marks. */
const cacheMarkModels = /claude|minimax-m[12]/i

/** A profile speaks of its usual dialect: in Anthropic's, and in Bedrock's, the model decides. */
function resolveReasoning(dialect: DialectName, facts: ModelFacts, profile: Quirks['reasoning']): Quirks['reasoning'] {
  if (facts.reasoning === false) return 'none'
  if (dialect !== 'anthropic' && dialect !== 'bedrock-converse') return profile
  if (profile === 'budget' || profile === 'adaptive') return profile
  if (facts.adaptive) return 'adaptive'
  return facts.reasoning ? 'budget' : undefined
}

/** How long the provider is asked to keep the beginning of a prompt; undefined: nothing is marked. */
export const resolveCacheTtl = (quirks: Quirks, { prompt_caching: caching }: Settings): '5m' | '1h' | undefined =>
  quirks.cacheMarks === 'native' && caching?.enabled !== false ? (caching?.ttl ?? '5m') : undefined
