/**
 * Lists well-known models, as of November 2026. Window, limits and abilities hold for every model whose name
 * begins with `family`; the longest family wins. Prices hold for exactly that model and its dated copies, and
 * only at the provider `maker`. Higher prices for long prompts are not listed. The public catalogs override
 * this list.
 */

import type { ModelFacts, Prices } from './model-facts.ts'

export type BuiltInModel = ModelFacts & { readonly family: string; readonly maker: string }

const perMillion = (input: number, output: number, cachedRead = input, cachedWrite = input): Prices => ({
  input,
  output,
  cachedRead,
  cachedWrite,
})

const standardEfforts = ['low', 'medium', 'high'] as const
const million = 1_000_000

/** Anthropic bills cache reads at a tenth and cache writes at five quarters of the input price. */
const claudePrices = (input: number, output: number) => perMillion(input, output, input / 10, input * 1.25)
const claude = {
  maker: 'anthropic',
  images: true,
  pdf: true,
  tools: true,
  caching: true,
  contextWindow: 200_000,
} as const
const claudeReasoning = { ...claude, reasoning: true, maxOutput: 64_000 } as const
const claudeLarge = { ...claudeReasoning, adaptive: true, contextWindow: million, maxOutput: 128_000 } as const
const claudeEfforts = [...standardEfforts, 'max'] as const
const claudeXhighEfforts = [...standardEfforts, 'xhigh', 'max'] as const

const anthropic: readonly BuiltInModel[] = [
  { family: 'claude', ...claude },
  { family: 'claude-3', ...claude, reasoning: false, maxOutput: 4_096 },
  { family: 'claude-3-5', ...claude, reasoning: false, maxOutput: 8_192 },
  { family: 'claude-3-7-sonnet', ...claudeReasoning, prices: claudePrices(3, 15) },
  { family: 'claude-haiku', ...claudeReasoning },
  { family: 'claude-haiku-4-5', ...claudeReasoning, prices: claudePrices(1, 5) },
  { family: 'claude-sonnet', ...claudeLarge },
  { family: 'claude-sonnet-4', ...claudeReasoning, prices: claudePrices(3, 15) },
  { family: 'claude-sonnet-4-5', ...claudeReasoning, prices: claudePrices(3, 15) },
  {
    family: 'claude-sonnet-4-6',
    ...claudeLarge,
    maxOutput: 64_000,
    efforts: claudeEfforts,
    prices: claudePrices(3, 15),
  },
  {
    family: 'claude-sonnet-5',
    ...claudeLarge,
    efforts: claudeEfforts,
    prices: claudePrices(2, 10),
    knowledge: '2026-01',
  },
  { family: 'claude-opus', ...claudeLarge },
  { family: 'claude-opus-4', ...claudeReasoning, maxOutput: 32_000, prices: claudePrices(15, 75) },
  { family: 'claude-opus-4-1', ...claudeReasoning, maxOutput: 32_000, prices: claudePrices(15, 75) },
  { family: 'claude-opus-4-5', ...claudeReasoning, prices: claudePrices(5, 25) },
  { family: 'claude-opus-4-6', ...claudeLarge, efforts: claudeEfforts, prices: claudePrices(5, 25) },
  {
    family: 'claude-opus-4-7',
    ...claudeLarge,
    efforts: claudeXhighEfforts,
    temperature: false,
    prices: claudePrices(5, 25),
  },
  {
    family: 'claude-opus-4-8',
    ...claudeLarge,
    efforts: claudeXhighEfforts,
    temperature: false,
    prices: claudePrices(5, 25),
  },
  {
    family: 'claude-opus-5',
    ...claudeLarge,
    efforts: claudeXhighEfforts,
    temperature: false,
    prices: claudePrices(5, 25),
  },
  {
    family: 'claude-fable-5',
    ...claudeLarge,
    efforts: claudeXhighEfforts,
    temperature: false,
    prices: claudePrices(10, 50),
  },
]

const gpt = { maker: 'openai', images: true, tools: true, caching: true } as const
const gpt41 = { ...gpt, pdf: true, reasoning: false, contextWindow: 1_047_576, maxOutput: 32_768 } as const
const gpt4o = { ...gpt, pdf: true, reasoning: false, contextWindow: 128_000, maxOutput: 16_384 } as const
const gpt5 = {
  ...gpt,
  pdf: true,
  reasoning: true,
  temperature: false,
  contextWindow: 400_000,
  maxOutput: 128_000,
  efforts: ['minimal', ...standardEfforts],
} as const
const gpt51 = { ...gpt5, efforts: ['none', ...standardEfforts] } as const
const gpt52 = { ...gpt5, efforts: ['none', ...standardEfforts, 'xhigh'] } as const
const gpt54 = { ...gpt52, contextWindow: 1_050_000 } as const
const oSeries = {
  ...gpt,
  pdf: true,
  reasoning: true,
  temperature: false,
  contextWindow: 200_000,
  maxOutput: 100_000,
  efforts: standardEfforts,
} as const

const openai: readonly BuiltInModel[] = [
  {
    family: 'gpt-3-5-turbo',
    maker: 'openai',
    images: false,
    reasoning: false,
    contextWindow: 16_385,
    maxOutput: 4_096,
  },
  { family: 'gpt-4', maker: 'openai', images: false, reasoning: false, contextWindow: 8_192, maxOutput: 8_192 },
  { family: 'gpt-4-32k', maker: 'openai', images: false, reasoning: false, contextWindow: 32_768 },
  { family: 'gpt-4-turbo', ...gpt, reasoning: false, contextWindow: 128_000, maxOutput: 4_096 },
  { family: 'gpt-4-5', ...gpt, reasoning: false, contextWindow: 128_000, maxOutput: 16_384 },
  { family: 'gpt-4-1', ...gpt41, prices: perMillion(2, 8, 0.5) },
  { family: 'gpt-4-1-mini', ...gpt41, prices: perMillion(0.4, 1.6, 0.1) },
  { family: 'gpt-4-1-nano', ...gpt41, prices: perMillion(0.1, 0.4, 0.025) },
  { family: 'gpt-4o', ...gpt4o, prices: perMillion(2.5, 10, 1.25) },
  { family: 'gpt-4o-mini', ...gpt4o, prices: perMillion(0.15, 0.6, 0.075) },
  { family: 'gpt-5', ...gpt5, prices: perMillion(1.25, 10, 0.125) },
  { family: 'gpt-5-mini', ...gpt5, prices: perMillion(0.25, 2, 0.025), knowledge: '2024-05-30' },
  { family: 'gpt-5-nano', ...gpt5, prices: perMillion(0.05, 0.4, 0.005) },
  { family: 'gpt-5-chat', ...gpt4o },
  { family: 'gpt-5-1', ...gpt51, prices: perMillion(1.25, 10, 0.125) },
  { family: 'gpt-5-2', ...gpt52, prices: perMillion(1.75, 14, 0.175), knowledge: '2025-08' },
  { family: 'gpt-5-4', ...gpt54, prices: perMillion(2.5, 15, 0.25), knowledge: '2025-08-31' },
  { family: 'gpt-5-4-mini', ...gpt52, prices: perMillion(0.75, 4.5, 0.075), knowledge: '2025-08-31' },
  { family: 'gpt-5-5', ...gpt54, prices: perMillion(5, 30, 0.5), knowledge: '2025-12-01' },
  { family: 'gpt-5-6', ...gpt54, efforts: [...gpt54.efforts, 'max'], prices: perMillion(2, 10, 0.2, 2.5) },
  { family: 'gpt-oss', ...gpt, images: false, reasoning: true, contextWindow: 131_072, efforts: standardEfforts },
  { family: 'o1', ...oSeries },
  { family: 'o3', ...oSeries, prices: perMillion(2, 8, 0.5) },
  { family: 'o4', ...oSeries },
  { family: 'o4-mini', ...oSeries, prices: perMillion(1.1, 4.4, 0.275) },
]

const geminiModel = {
  maker: 'gemini',
  images: true,
  reasoning: true,
  tools: true,
  caching: true,
  contextWindow: 1_048_576,
  maxOutput: 65_536,
  efforts: standardEfforts,
} as const
const gemini: readonly BuiltInModel[] = [
  { family: 'gemini', ...geminiModel },
  {
    family: 'gemini-2-5-flash',
    ...geminiModel,
    efforts: ['none', ...standardEfforts],
    prices: perMillion(0.3, 2.5, 0.03),
  },
  { family: 'gemini-2-5-pro', ...geminiModel, prices: perMillion(1.25, 10, 0.125) },
  { family: 'gemini-3-1-pro-preview', ...geminiModel, prices: perMillion(2, 12, 0.2), knowledge: '2025-01' },
  { family: 'gemini-3-5-flash', ...geminiModel, prices: perMillion(1.5, 9, 0.15), knowledge: '2025-01' },
]

const textOnly = { images: false } as const

const others: readonly BuiltInModel[] = [
  { family: 'deepseek', maker: 'deepseek', ...textOnly },
  {
    family: 'deepseek-v4',
    maker: 'deepseek',
    ...textOnly,
    contextWindow: million,
    reasoning: true,
    tools: true,
    caching: true,
  },
  {
    family: 'deepseek-v4-pro',
    maker: 'deepseek',
    images: false,
    contextWindow: million,
    reasoning: true,
    tools: true,
    caching: true,
    efforts: ['none', 'high', 'max'],
    prices: perMillion(1.32, 3.96, 0.044),
  },
  {
    family: 'deepseek-v4-flash',
    maker: 'deepseek',
    images: false,
    contextWindow: million,
    reasoning: true,
    tools: true,
    caching: true,
    efforts: ['none', 'low', 'high', 'max'],
  },
  {
    family: 'kimi-k2-6',
    maker: 'kimi-coding',
    contextWindow: 262_144,
    maxOutput: 262_144,
    images: true,
    reasoning: true,
    tools: true,
    prices: perMillion(0.95, 4, 0.16),
    knowledge: '2025-01',
  },
  { family: 'kimi-k2', maker: 'kimi-coding', ...textOnly, contextWindow: 262_144, reasoning: true, tools: true },
  {
    family: 'kimi-k3',
    maker: 'kimi-coding',
    contextWindow: 1_048_576,
    reasoning: true,
    tools: true,
    efforts: ['none', 'low', 'high', 'max'],
    prices: perMillion(3, 15, 0.3),
  },
  {
    family: 'glm-4-7',
    maker: 'zai',
    contextWindow: 204_800,
    maxOutput: 131_072,
    images: false,
    reasoning: true,
    tools: true,
    prices: perMillion(0.6, 2.2, 0.11),
    knowledge: '2025-04',
  },
  {
    family: 'glm-5',
    maker: 'zai',
    ...textOnly,
    contextWindow: 204_800,
    maxOutput: 131_072,
    reasoning: true,
    tools: true,
  },
  {
    family: 'grok-4-5',
    maker: 'xai',
    contextWindow: 500_000,
    images: true,
    reasoning: true,
    tools: true,
    efforts: standardEfforts,
    prices: perMillion(2, 6, 0.5),
  },
  {
    family: 'grok-4-3',
    maker: 'xai',
    contextWindow: million,
    maxOutput: 30_000,
    images: true,
    reasoning: true,
    tools: true,
    prices: perMillion(1.25, 2.5, 0.2),
  },
  {
    family: 'minimax-m2-7',
    maker: 'minimax',
    contextWindow: 204_800,
    maxOutput: 131_072,
    images: false,
    reasoning: true,
    tools: true,
    prices: perMillion(0.3, 1.2, 0.06, 0.375),
  },
  {
    family: 'minimax-m3',
    maker: 'minimax',
    contextWindow: million,
    maxOutput: 128_000,
    images: true,
    reasoning: true,
    tools: true,
    prices: perMillion(0.6, 2.4, 0.12),
  },
]

/** The demo model has no limits. */
const demo: BuiltInModel = { family: 'agent', maker: 'demo', contextWindow: million, tools: true, reasoning: false }

export const builtInModels: readonly BuiltInModel[] = [...anthropic, ...openai, ...gemini, ...others, demo]
