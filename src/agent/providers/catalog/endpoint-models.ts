/**
 * Parses the model lists of servers with OpenAI's API (`GET /models`). OpenAI's own has ids alone; the fields beside them
 * are those of OpenRouter, Together, DeepInfra, Groq, Mistral, vLLM, LM Studio and llama.cpp.
 */

import { type CatalogObject, asBoolean, asList, asObject, asTokenCount, asUsd, omitUndefined } from './json-values.ts'
import type { ModelFacts, ModelTable, Prices } from './model-facts.ts'
import { parseOpenRouter } from './openrouter.ts'

/** Undefined when the document is no list of models. */
export function parseEndpointModels(document: unknown): ModelTable | undefined {
  const { data, models } = asObject(document)
  const list = [document, data, models].find(Array.isArray)
  if (!list) return undefined
  const rows = asList(list).map(asObject)
  const routed = parseOpenRouter({ data: rows })
  return Object.fromEntries(
    rows.flatMap((row) => {
      const id = [row['id'], row['name'], row['model']].find((name) => typeof name === 'string' && name !== '')
      return typeof id === 'string' ? [[id, { ...parseFacts(row), ...routed[id] }] as const] : []
    }),
  )
}

function parseFacts(row: CatalogObject): ModelFacts {
  const metadata = asObject(row['metadata'])
  const abilities = asObject(row['capabilities'])
  const windows = [
    row['context_window'],
    row['context_length'],
    row['max_context_length'],
    row['max_model_len'],
    row['context_size'],
    metadata['context_length'],
    asObject(row['meta'])['n_ctx_train'],
  ]
  return omitUndefined<ModelFacts>({
    contextWindow: windows.map(asTokenCount).find((size) => size !== undefined),
    maxOutput: asTokenCount(row['max_completion_tokens']) ?? asTokenCount(metadata['max_tokens']),
    prices: parsePrices(asObject(row['pricing']), asObject(metadata['pricing'])),
    images: asBoolean(abilities['vision']),
    tools: asBoolean(abilities['function_calling']),
  })
}

/** Those per million tokens, which have other names than OpenRouter's per token. */
function parsePrices(pricing: CatalogObject, metadata: CatalogObject): Prices | undefined {
  const input = asUsd(pricing['input']) ?? asUsd(metadata['input_tokens'])
  const output = asUsd(pricing['output']) ?? asUsd(metadata['output_tokens'])
  if (input === undefined || output === undefined) return undefined
  const cachedRead = asUsd(pricing['cached_input']) ?? asUsd(metadata['cache_read_tokens']) ?? input
  return { input, output, cachedRead, cachedWrite: input }
}
