/** Defines the profiles of model makers: providers that serve their own models. */

import { defineProvider, structuredClaude } from './define-provider.ts'

/** Gemini 3 requires a signature on every replayed call. Google documents this one for calls that another model made. */
const geminiPlaceholderSignature = { google: { thought_signature: 'skip_thought_signature_validator' } }

/** These models reject a request whose replayed calls lack their thinking. */
const echoThinking = { echoThinking: 'reasoning_content' } as const
/** Their APIs have JSON mode, but no schemas. */
const formatWithoutSchema = { answerFormat: 'object' } as const
const kimi = {
  quirks: { ...echoThinking, temperature: 'omitted', defaultMaxTokens: 32_000, reasoning: 'toggle' },
  rules: [
    // Keys of the coding plan use another address and another dialect.
    { key: /^sk-kimi-/, dialect: 'anthropic', baseUrl: 'https://api.kimi.com/coding' },
  ],
} as const
const minimax = { dialect: 'anthropic', quirks: { bearer: true }, defaultModel: 'MiniMax-M3' } as const
/** Qwen controls thinking with parameters of its own, so effort is not sent. */
const qwen = { quirks: { ...formatWithoutSchema, content: 'parts', reasoning: 'none' } } as const

export const openai = defineProvider({
  id: 'openai',
  baseUrl: 'https://api.openai.com/v1',
  quirks: {
    maxTokensField: 'max_completion_tokens',
    serverParameters: 'omitted',
    answerFormat: 'native',
    fileParts: true,
  },
  rules: [
    { model: /^(gpt-([5-9]|\d\d)|codex)/, host: 'api.openai.com', dialect: 'openai-responses' },
    { model: /^(gpt-([5-9]|\d\d)|codex)/, quirks: { serverSearch: 'openai-responses' } },
    { model: /^(gpt-([5-9]|\d\d)(?!.*-chat)|codex)/, quirks: { systemRole: 'developer', temperature: 'omitted' } },
    { model: /^o\d/, quirks: { temperature: 'omitted' } },
    { model: /^gpt-[5-9].*-chat/, quirks: { reasoning: 'none' } },
  ],
  defaultModel: 'gpt-5.4-mini',
  catalog: 'openai',
  listsAllModels: true,
})

export const anthropic = defineProvider({
  id: 'anthropic',
  aliases: ['claude'],
  dialect: 'anthropic',
  baseUrl: 'https://api.anthropic.com',
  keys: ['ANTHROPIC_API_KEY', 'ANTHROPIC_TOKEN'],
  rules: [
    { model: /claude/, quirks: { serverSearch: 'anthropic' } },
    { key: /^sk-ant-oat/, headers: { 'anthropic-beta': 'oauth-2025-04-20' }, quirks: { bearer: true } },
    { model: structuredClaude, quirks: { answerFormat: 'native' } },
    // Compatible hosts and proxies refuse such results. The same models have both features.
    { model: structuredClaude, host: 'api.anthropic.com', quirks: { toolReferences: true } },
  ],
  defaultModel: 'claude-sonnet-5',
  auxModel: 'claude-haiku-4-5',
  catalog: 'anthropic',
  listsAllModels: true,
})

export const gemini = defineProvider({
  id: 'gemini',
  aliases: ['google'],
  baseUrl: 'https://generativelanguage.googleapis.com/v1beta/openai',
  keys: ['GEMINI_API_KEY', 'GOOGLE_API_KEY'],
  quirks: { schemas: 'gemini', sealedCalls: {}, serverParameters: 'omitted' },
  rules: [
    {
      model: /^gemini-([3-9]|\d\d)/,
      // Earlier models refuse a format together with tools.
      quirks: { sealedCalls: { unsealed: geminiPlaceholderSignature }, answerFormat: 'native' },
    },
  ],
  defaultModel: 'gemini-3.5-flash',
  catalog: 'google',
  listsAllModels: true,
})

/** Gemini by its own API instead of OpenAI's form. */
export const geminiNative = defineProvider({
  id: 'gemini-native',
  dialect: 'gemini',
  baseUrl: 'https://generativelanguage.googleapis.com/v1beta',
  keys: gemini.keys,
  rules: [{ model: /^gemini-([3-9]|\d\d)/, quirks: { answerFormat: 'native' } }],
  defaultModel: gemini.defaultModel,
  catalog: 'google',
})

export const xai = defineProvider({
  id: 'xai',
  aliases: ['grok'],
  dialect: 'openai-responses',
  baseUrl: 'https://api.x.ai/v1',
  quirks: { answerFormat: 'native' },
  defaultModel: 'grok-4.5',
  catalog: 'xai',
  listsAllModels: true,
})

export const deepseek = defineProvider({
  id: 'deepseek',
  baseUrl: 'https://api.deepseek.com/v1',
  quirks: { ...echoThinking, ...formatWithoutSchema, reasoning: 'toggle' },
  rules: [{ model: /^deepseek-chat/, quirks: { reasoning: 'none' } }],
  defaultModel: 'deepseek-v4-flash',
  auxModel: 'deepseek-v4-flash',
  catalog: 'deepseek',
  listsAllModels: true,
})

export const zai = defineProvider({
  id: 'zai',
  aliases: ['glm', 'z-ai', 'zhipu'],
  baseUrl: 'https://api.z.ai/api/paas/v4',
  keys: ['GLM_API_KEY', 'ZAI_API_KEY'],
  overloadMs: 30_000,
  quirks: { ...echoThinking, ...formatWithoutSchema, reasoning: 'toggle' },
  defaultModel: 'glm-4.7',
  catalog: 'zai',
})

export const kimiCoding = defineProvider({
  id: 'kimi-coding',
  aliases: ['kimi', 'moonshot', 'moonshotai'],
  baseUrl: 'https://api.moonshot.ai/v1',
  baseUrlVariable: 'KIMI_BASE_URL',
  keys: ['KIMI_API_KEY', 'MOONSHOT_API_KEY'],
  ...kimi,
  defaultModel: 'kimi-k2.6',
  catalog: 'moonshotai',
})

export const kimiCodingCn = defineProvider({
  id: 'kimi-coding-cn',
  aliases: ['kimi-cn', 'moonshot-cn'],
  baseUrl: 'https://api.moonshot.cn/v1',
  baseUrlVariable: 'KIMI_CN_BASE_URL',
  keys: ['KIMI_CN_API_KEY'],
  ...kimi,
  defaultModel: 'kimi-k2.6',
  catalog: 'moonshotai-cn',
})

export const minimaxGlobal = defineProvider({
  id: 'minimax',
  baseUrl: 'https://api.minimax.io/anthropic',
  ...minimax,
  catalog: 'minimax',
})

export const minimaxCn = defineProvider({
  id: 'minimax-cn',
  baseUrl: 'https://api.minimaxi.com/anthropic',
  ...minimax,
  catalog: 'minimax-cn',
})

export const alibaba = defineProvider({
  id: 'alibaba',
  aliases: ['qwen', 'dashscope'],
  baseUrl: 'https://dashscope-intl.aliyuncs.com/compatible-mode/v1',
  keys: ['DASHSCOPE_API_KEY', 'ALIBABA_API_KEY'],
  ...qwen,
  // Alibaba reads cache marks for Qwen models only.
  rules: [{ model: /^qwen/i, quirks: { cacheMarks: 'native' } }],
  defaultModel: 'qwen3-max',
  catalog: 'alibaba',
})

export const alibabaCodingPlan = defineProvider({
  id: 'alibaba-coding-plan',
  baseUrl: 'https://coding-intl.dashscope.aliyuncs.com/v1',
  keys: ['ALIBABA_CODING_PLAN_API_KEY', 'DASHSCOPE_API_KEY'],
  ...qwen,
  rules: [{ model: /^qwen/i, quirks: { cacheMarks: 'native' } }],
  defaultModel: 'qwen3-coder-plus',
})

export const metaAi = defineProvider({
  id: 'meta-ai',
  dialect: 'openai-responses',
  baseUrl: 'https://api.meta.ai/v1',
  quirks: { defaultMaxTokens: 16_384 },
})

export const stepfun = defineProvider({
  id: 'stepfun',
  baseUrl: 'https://api.stepfun.ai/step_plan/v1',
  catalog: 'stepfun',
})
export const upstage = defineProvider({ id: 'upstage', baseUrl: 'https://api.upstage.ai/v1', catalog: 'upstage' })

export const arcee = defineProvider({
  id: 'arcee',
  baseUrl: 'https://api.arcee.ai/api/v1',
  keys: ['ARCEEAI_API_KEY', 'ARCEE_API_KEY'],
  rules: [{ model: /trinity-large-thinking/, quirks: { temperature: 0.5 } }],
})

export const xiaomi = defineProvider({
  id: 'xiaomi',
  aliases: ['mimo'],
  baseUrl: 'https://api.xiaomimimo.com/v1',
  quirks: { content: 'string-results' },
  catalog: 'xiaomi',
})
