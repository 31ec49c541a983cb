/** Resolves the quirks of a route. Quirks of the provider profile override those derived from the model facts. */

import type { DialectName, Quirks } from '#agent/core/dialect.ts'
import type { Settings } from '#agent/core/settings.ts'
import type { ModelFacts } from '#agent/providers/catalog/model-facts.ts'

/** Caps the output tokens that are requested by default. Settings may request more. */
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
    ...(dialect === 'anthropic' &&
      facts.maxOutput && { defaultMaxTokens: Math.min(facts.maxOutput, maxDefaultOutputTokens) }),
    ...(dialect === 'anthropic' && cacheMarkModels.test(model) && { cacheMarks: 'native' as const }),
    ...profile,
    ...(reasoning && { reasoning }),
    ...(maxOutput && { defaultMaxTokens: maxOutput }),
  }
}

/** Models in the Anthropic dialect that support its cache marks. */
const cacheMarkModels = /claude|minimax-m[12]/i

/** A profile describes its usual dialect. In the Anthropic and Bedrock dialects the model facts decide. */
function resolveReasoning(dialect: DialectName, facts: ModelFacts, profile: Quirks['reasoning']): Quirks['reasoning'] {
  if (facts.reasoning === false) return 'none'
  if (dialect !== 'anthropic' && dialect !== 'bedrock-converse') return profile
  if (profile === 'budget' || profile === 'adaptive') return profile
  if (facts.adaptive) return 'adaptive'
  return facts.reasoning ? 'budget' : undefined
}

/** Returns how long the provider should cache the prompt prefix; undefined: no cache marks are sent. */
export const resolveCacheTtl = (quirks: Quirks, { prompt_caching: caching }: Settings): '5m' | '1h' | undefined =>
  quirks.cacheMarks === 'native' && caching?.enabled !== false ? (caching?.ttl ?? '5m') : undefined
