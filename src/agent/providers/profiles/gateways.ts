/** Defines the profiles of gateways and hosts: providers that serve models of other makers. */

import { defineProvider, projectUrl, type ProviderRule } from './define-provider.ts'

/** Model families whose cache marks these gateways forward. */
const cacheMarkRule: ProviderRule = { model: /claude|kimi|qwen/i, quirks: { cacheMarks: 'native' } }

export const openrouter = defineProvider({
  id: 'openrouter',
  aliases: ['or'],
  baseUrl: 'https://openrouter.ai/api/v1',
  headers: {
    'HTTP-Referer': projectUrl,
    'X-Title': 'Talaria',
    'X-OpenRouter-Categories': 'personal-agent,cloud-agent',
  },
  quirks: { reasoning: 'object', echoThinking: 'reasoning_details', serverSearch: 'openai-chat', fileParts: true },
  rules: [{ model: /claude|kimi/i, quirks: { cacheMarks: 'native' } }],
  isAggregator: true,
  defaultModel: 'openrouter/auto',
  catalog: 'openrouter',
  listsAllModels: true,
})

export const nous = defineProvider({
  id: 'nous',
  baseUrl: 'https://inference-api.nousresearch.com/v1',
  quirks: { reasoning: 'object' },
  rules: [cacheMarkRule, { model: /claude/i, dialect: 'anthropic', quirks: { bearer: true } }],
  isAggregator: true,
})

export const huggingface = defineProvider({
  id: 'huggingface',
  aliases: ['hf'],
  baseUrl: 'https://router.huggingface.co/v1',
  keys: ['HF_TOKEN', 'HUGGINGFACE_API_KEY'],
  isAggregator: true,
  catalog: 'huggingface',
})

export const aiGateway = defineProvider({
  id: 'ai-gateway',
  aliases: ['vercel'],
  baseUrl: 'https://ai-gateway.vercel.sh/v1',
  quirks: { reasoning: 'object' },
  isAggregator: true,
  catalog: 'vercel',
})

export const kilocode = defineProvider({
  id: 'kilocode',
  aliases: ['kilo'],
  baseUrl: 'https://api.kilo.ai/api/gateway',
  quirks: { reasoning: 'object' },
  isAggregator: true,
  catalog: 'kilo',
})

export const opencodeZen = defineProvider({
  id: 'opencode-zen',
  aliases: ['opencode'],
  baseUrl: 'https://opencode.ai/zen/v1',
  rules: [
    { model: /^qwen/i, quirks: { cacheMarks: 'native' } },
    { model: /^claude/, dialect: 'anthropic' },
    { model: /^gpt-([5-9]|\d\d)/, dialect: 'openai-responses' },
  ],
  isAggregator: true,
  catalog: 'opencode',
})

export const opencodeGo = defineProvider({
  id: 'opencode-go',
  baseUrl: 'https://opencode.ai/zen/go/v1',
  rules: [
    { model: /^qwen/i, quirks: { cacheMarks: 'native' } },
    { model: /^minimax/i, dialect: 'anthropic' },
  ],
  isAggregator: true,
  catalog: 'opencode-go',
})

export const nvidia = defineProvider({
  id: 'nvidia',
  baseUrl: 'https://integrate.api.nvidia.com/v1',
  quirks: { defaultMaxTokens: 16_384 },
  catalog: 'nvidia',
})

export const tencentTokenhub = defineProvider({
  id: 'tencent-tokenhub',
  aliases: ['tokenhub', 'tencent'],
  baseUrl: 'https://tokenhub.tencentmaas.com/v1',
  keys: ['TOKENHUB_API_KEY'],
})

export const fireworks = defineProvider({
  id: 'fireworks',
  baseUrl: 'https://api.fireworks.ai/inference/v1',
  catalog: 'fireworks-ai',
})

export const deepinfra = defineProvider({
  id: 'deepinfra',
  baseUrl: 'https://api.deepinfra.com/v1/openai',
  catalog: 'deepinfra',
})

export const novita = defineProvider({ id: 'novita', baseUrl: 'https://api.novita.ai/openai/v1', catalog: 'novita-ai' })
export const gmi = defineProvider({ id: 'gmi', baseUrl: 'https://api.gmi-serving.com/v1' })
