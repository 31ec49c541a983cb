/** Tests the model lists of servers with OpenAI's API. */

import { expect, it } from 'vitest'
import { parseEndpointModels } from '#agent/providers/catalog/endpoint-models.ts'

const price = (input: number, output: number) => ({ input, output, cachedRead: input, cachedWrite: input })

it.each<readonly [string, unknown, unknown]>([
  ['OpenAI', { object: 'list', data: [{ id: 'gpt', object: 'model' }] }, { gpt: {} }],
  ['vLLM', { data: [{ id: 'a/b', max_model_len: 4_096 }] }, { 'a/b': { contextWindow: 4_096 } }],
  [
    'Groq',
    { data: [{ id: 'l', context_window: 8, max_completion_tokens: 4 }] },
    { l: { contextWindow: 8, maxOutput: 4 } },
  ],
  [
    'Together',
    [{ id: 't', context_length: 9, pricing: { input: 0.2, output: 0.3 } }],
    { t: { contextWindow: 9, prices: price(0.2, 0.3) } },
  ],
  [
    'DeepInfra',
    { data: [{ id: 'd', metadata: { context_length: 7, pricing: { input_tokens: 1, output_tokens: 2 } } }] },
    { d: { contextWindow: 7, prices: price(1, 2) } },
  ],
  [
    'OpenRouter, per token',
    { data: [{ id: 'o', context_length: 5, pricing: { prompt: '0.000001', completion: '0.000002' } }] },
    { o: { contextWindow: 5, prices: price(1, 2) } },
  ],
  [
    'Mistral',
    { data: [{ id: 'm', max_context_length: 6, capabilities: { vision: true, function_calling: false } }] },
    { m: { contextWindow: 6, images: true, tools: false } },
  ],
  ['Ollama', { models: [{ name: 'q:4b' }] }, { 'q:4b': {} }],
  ['hostile rows', { data: [null, 5, { id: 7 }, { id: 'x', context_window: -1, pricing: 'free' }] }, { x: {} }],
  ['no list', { hello: 1 }, undefined],
  ['no JSON', undefined, undefined],
])('reads the list of %s', (_name, document, models) => expect(parseEndpointModels(document)).toEqual(models))
