/** Parses OpenRouter's model list (`GET /api/v1/models`). Its prices are USD per token, as text. */

import type { ModelFacts, ModelTable, Prices } from './model-facts.ts'
import { asUsd, type CatalogObject, asList, asObject, omitUndefined, asTokenCount } from './json-values.ts'

export function parseOpenRouter(document: unknown): ModelTable {
  const rows = asList(asObject(document)['data']).map(asObject)
  return Object.fromEntries(
    rows.flatMap((row) => (typeof row['id'] === 'string' ? [[row['id'], parseFacts(row)] as const] : [])),
  )
}

function parseFacts(row: CatalogObject): ModelFacts {
  const top = asObject(row['top_provider'])
  const parameters = new Set(asList(row['supported_parameters']))
  const input = asObject(row['architecture'])['input_modalities']
  const pricing = asObject(row['pricing'])
  return omitUndefined<ModelFacts>({
    // Requests normally go to the top provider, so its smaller window is the limit.
    contextWindow: minDefined(asTokenCount(row['context_length']), asTokenCount(top['context_length'])),
    maxOutput: asTokenCount(top['max_completion_tokens']),
    prices: parsePrices(pricing),
    images: Array.isArray(input) ? input.includes('image') : undefined,
    audio: Array.isArray(input) ? input.includes('audio') : undefined,
    pdf: Array.isArray(input) ? input.includes('file') : undefined,
    reasoning: parameters.size ? parameters.has('reasoning') : undefined,
    tools: parameters.size ? parameters.has('tools') : undefined,
    temperature: parameters.size ? parameters.has('temperature') : undefined,
    caching: asUsd(pricing['input_cache_read']) === undefined ? undefined : true,
    knowledge: typeof row['knowledge_cutoff'] === 'string' ? row['knowledge_cutoff'].slice(0, 10) : undefined,
  })
}

const minDefined = (a: number | undefined, b: number | undefined) =>
  a === undefined || b === undefined ? (a ?? b) : Math.min(a, b)

/** The price "-1" (of `openrouter/auto`) is unknown: it depends on the model that OpenRouter chooses. */
function parsePrices(pricing: CatalogObject): Prices | undefined {
  const perMillion = (name: string) => {
    const amount = asUsd(pricing[name])
    return amount === undefined ? undefined : Math.round(amount * 1e12) / 1e6
  }
  const input = perMillion('prompt')
  const output = perMillion('completion')
  if (input === undefined || output === undefined) return undefined
  return {
    input,
    output,
    cachedRead: perMillion('input_cache_read') ?? input,
    cachedWrite: perMillion('input_cache_write') ?? input,
  }
}
