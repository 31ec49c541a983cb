/**
 * Defines the profiles of subscriptions: a tenant signs in to them, and no key of the deployment is used. Their headers
 * are added by the call (call-subscribed.ts).
 */

import { defineProvider } from './define-provider.ts'

export const openaiCodex = defineProvider({
  id: 'openai-codex',
  aliases: ['codex', 'chatgpt'],
  dialect: 'openai-responses',
  baseUrl: 'https://chatgpt.com/backend-api/codex',
  keys: [],
  signIn: 'ChatGPT',
  quirks: { outputLimit: 'omitted', temperature: 'omitted', serverParameters: 'omitted', answerFormat: 'native' },
  defaultModel: 'gpt-5.4',
})

export const copilot = defineProvider({
  id: 'copilot',
  aliases: ['github-copilot'],
  baseUrl: 'https://api.githubcopilot.com',
  keys: [],
  signIn: 'GitHub Copilot',
  rules: [
    // The small models of this family are served as chat completions alone.
    { model: /^gpt-([5-9]|\d\d)(?!.*mini)/, dialect: 'openai-responses' },
    { model: /^(gpt-([5-9]|\d\d)|o\d)/, quirks: { temperature: 'omitted' } },
  ],
  defaultModel: 'gpt-5-mini',
  catalog: 'github-copilot',
})

export const xaiOauth = defineProvider({
  id: 'xai-oauth',
  dialect: 'openai-responses',
  baseUrl: 'https://api.x.ai/v1',
  keys: [],
  signIn: 'xAI',
  quirks: { answerFormat: 'native' },
  defaultModel: 'grok-4.5',
})

export const qwenOauth = defineProvider({
  id: 'qwen-oauth',
  baseUrl: 'https://portal.qwen.ai/v1',
  keys: [],
  signIn: 'Qwen',
  quirks: { answerFormat: 'object', content: 'parts', reasoning: 'none', defaultMaxTokens: 65_536 },
  defaultModel: 'qwen3-coder-plus',
})
