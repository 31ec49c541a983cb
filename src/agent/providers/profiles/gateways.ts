/** Those who serve models of others, or pass requests on to them. */

import { provider, site, type Rule } from './profile.ts'

/** The families whose marks these gateways hand on to the model's provider. */
const marked: Rule = { model: /claude|kimi|qwen/i, quirks: { cacheMarks: 'native' } }

export const openrouter = provider({
  id: 'openrouter',
  aliases: ['or'],
  baseUrl: 'https://openrouter.ai/api/v1',
  headers: { 'HTTP-Referer': site, 'X-Title': 'Talaria', 'X-OpenRouter-Categories': 'personal-agent,cloud-agent' },
  quirks: { reasoning: 'object', echoThinking: 'reasoning_details' },
  rules: [{ model: /claude|kimi/i, quirks: { cacheMarks: 'native' } }],
  aggregator: true,
  defaultModel: 'openrouter/auto',
  catalog: 'openrouter',
})

export const nous = provider({
  id: 'nous',
  baseUrl: 'https://inference-api.nousresearch.com/v1',
  quirks: { reasoning: 'object' },
  rules: [marked, { model: /claude/i, dialect: 'anthropic', quirks: { bearer: true } }],
  aggregator: true,
})

export const huggingface = provider({
  id: 'huggingface',
  aliases: ['hf'],
  baseUrl: 'https://router.huggingface.co/v1',
  keys: ['HF_TOKEN', 'HUGGINGFACE_API_KEY'],
  aggregator: true,
  catalog: 'huggingface',
})

export const aiGateway = provider({
  id: 'ai-gateway',
  aliases: ['vercel'],
  baseUrl: 'https://ai-gateway.vercel.sh/v1',
  quirks: { reasoning: 'object' },
  aggregator: true,
  catalog: 'vercel',
})

export const kilocode = provider({
  id: 'kilocode',
  aliases: ['kilo'],
  baseUrl: 'https://api.kilo.ai/api/gateway',
  quirks: { reasoning: 'object' },
  aggregator: true,
  catalog: 'kilo',
})

export const opencodeZen = provider({
  id: 'opencode-zen',
  aliases: ['opencode'],
  baseUrl: 'https://opencode.ai/zen/v1',
  rules: [
    { model: /^qwen/i, quirks: { cacheMarks: 'native' } },
    { model: /^claude/, dialect: 'anthropic' },
    { model: /^gpt-([5-9]|\d\d)/, dialect: 'openai-responses' },
  ],
  aggregator: true,
  catalog: 'opencode',
})

export const opencodeGo = provider({
  id: 'opencode-go',
  baseUrl: 'https://opencode.ai/zen/go/v1',
  rules: [
    { model: /^qwen/i, quirks: { cacheMarks: 'native' } },
    { model: /^minimax/i, dialect: 'anthropic' },
  ],
  aggregator: true,
  catalog: 'opencode-go',
})

export const nvidia = provider({
  id: 'nvidia',
  baseUrl: 'https://integrate.api.nvidia.com/v1',
  quirks: { defaultMaxTokens: 16_384 },
  catalog: 'nvidia',
})

export const fireworks = provider({
  id: 'fireworks',
  baseUrl: 'https://api.fireworks.ai/inference/v1',
  catalog: 'fireworks-ai',
})

export const deepinfra = provider({
  id: 'deepinfra',
  baseUrl: 'https://api.deepinfra.com/v1/openai',
  catalog: 'deepinfra',
})

export const novita = provider({ id: 'novita', baseUrl: 'https://api.novita.ai/openai/v1', catalog: 'novita-ai' })
export const gmi = provider({ id: 'gmi', baseUrl: 'https://api.gmi-serving.com/v1' })
