/** OpenRouter's list of its models, `GET /api/v1/models`, in our words. Prices there are USD per token, as text. */

import type { Facts, ModelTable, Prices } from './facts.ts'
import { amountIn, type Document, listIn, objectIn, present, tokensIn } from './read.ts'

export function readOpenRouter(document: unknown): ModelTable {
  const rows = listIn(objectIn(document)['data']).map(objectIn)
  return Object.fromEntries(
    rows.flatMap((row) => (typeof row['id'] === 'string' ? [[row['id'], factsOf(row)] as const] : [])),
  )
}

function factsOf(row: Document): Facts {
  const top = objectIn(row['top_provider'])
  const parameters = new Set(listIn(row['supported_parameters']))
  const input = objectIn(row['architecture'])['input_modalities']
  const pricing = objectIn(row['pricing'])
  return present<Facts>({
    // A request goes to the top provider unless it is full: what fits there fits.
    contextWindow: smaller(tokensIn(row['context_length']), tokensIn(top['context_length'])),
    maxOutput: tokensIn(top['max_completion_tokens']),
    prices: pricesOf(pricing),
    images: Array.isArray(input) ? input.includes('image') : undefined,
    reasoning: parameters.size ? parameters.has('reasoning') : undefined,
    tools: parameters.size ? parameters.has('tools') : undefined,
    temperature: parameters.size ? parameters.has('temperature') : undefined,
    caching: amountIn(pricing['input_cache_read']) === undefined ? undefined : true,
    knowledge: typeof row['knowledge_cutoff'] === 'string' ? row['knowledge_cutoff'].slice(0, 10) : undefined,
  })
}

const smaller = (a: number | undefined, b: number | undefined) =>
  a === undefined || b === undefined ? (a ?? b) : Math.min(a, b)

/** What costs "-1" is priced by the model that is chosen. */
function pricesOf(pricing: Document): Prices | undefined {
  const perMillion = (name: string) => {
    const amount = amountIn(pricing[name])
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
