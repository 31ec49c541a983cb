/** Tests which model is cheap enough for side calls that nobody has configured. */

import { expect, it } from 'vitest'
import { emptyCatalog } from '#agent/providers/catalog/model-lookup.ts'
import { findCheapModel } from '#agent/routing/cheap-model.ts'

const prices = (input: number, output: number) => ({ input, output, cachedRead: input, cachedWrite: input })
const facts = (input: number, output: number) => ({
  prices: prices(input, output),
  contextWindow: 200_000,
  tools: true,
})

const catalog = {
  ...emptyCatalog,
  'models.dev': {
    openai: {
      'gpt-5.5': facts(5, 30),
      'gpt-5.4-mini': facts(0.75, 4.5),
      'gpt-5.4-nano': facts(0.2, 1.25),
      'o4-mini': facts(0.1, 0.2),
      'gpt-old': { ...facts(0.01, 0.01), deprecated: true },
    },
    openrouter: { 'openai/gpt-5.4-nano': facts(0.2, 1.25), 'anthropic/claude-haiku-4.5': facts(1, 5) },
  },
}
const usable = (id: string) => {
  const [provider = '', ...name] = id.split('/')
  const tables: Record<string, Record<string, { prices: ReturnType<typeof prices> }>> = catalog['models.dev']
  return { id, prices: tables[provider]?.[name.join('/')]?.prices ?? prices(3, 15) }
}
const route = (id: string, cost?: readonly [number, number]) => {
  const slash = id.indexOf('/')
  return {
    id,
    provider: id.slice(0, slash),
    model: id.slice(slash + 1),
    dialect: id.startsWith('demo') ? ('demo' as const) : ('openai-chat' as const),
    ...(cost && { prices: prices(...cost) }),
  }
}

it.each([
  ['the one that the profile names', 'anthropic/claude-opus-5', [5, 25], 'anthropic/claude-haiku-4-5'],
  ['also without a price', 'anthropic/claude-opus-9', undefined, 'anthropic/claude-haiku-4-5'],
  ['the cheapest of the family', 'openai/gpt-5.5', [5, 30], 'openai/gpt-5.4-nano'],
  [
    'of the same maker at a gateway',
    'openrouter/anthropic/claude-opus-5',
    [5, 25],
    'openrouter/anthropic/claude-haiku-4.5',
  ],
  ['the model itself when it is cheap', 'openai/gpt-5.4-nano', [0.2, 1.25], 'openai/gpt-5.4-nano'],
  ['the model of a custom provider when it is cheap', 'custom:mine/m', [0, 0], 'custom:mine/m'],
  ['none without a price', 'custom:mine/m', undefined, undefined],
  ['none when all are expensive', 'xai/grok-9', [3, 15], undefined],
  ['none for the demo model', 'demo/agent', [0, 0], undefined],
] as const)('finds %s', (_name, id, cost, expected) => {
  expect(findCheapModel(route(id, cost), { catalog, routeOf: usable })).toBe(expected)
})

it('skips models that cannot be called', () => {
  const known = { catalog, routeOf: (id: string) => (id.includes('mini') ? usable(id) : undefined) }
  expect(findCheapModel(route('openai/gpt-5.5', [5, 30]), known)).toBe('openai/gpt-5.4-mini')
})
