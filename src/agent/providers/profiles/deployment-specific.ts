/** Defines the profiles of providers that depend on the deployment: cloud accounts, own servers, bindings, the demo. */

import { defineProvider, structuredClaude } from './define-provider.ts'
import { geminiNative } from './makers.ts'

export const azureFoundry = defineProvider({
  id: 'azure-foundry',
  aliases: ['azure'],
  // Each Azure resource has its own address; one that ends with /anthropic uses the Anthropic dialect.
  dialect: undefined,
  baseUrl: '',
  quirks: { maxTokensField: 'max_completion_tokens', serverParameters: 'omitted' },
  rules: [
    { model: /^(gpt-[4-9o]|gpt-\d\d|o\d)/, quirks: { answerFormat: 'native' } },
    { model: /^(gpt-([5-9]|\d\d)|o\d)/, quirks: { systemRole: 'developer', temperature: 'omitted' } },
  ],
  catalog: 'azure',
})

export const bedrock = defineProvider({
  id: 'bedrock',
  aliases: ['aws', 'amazon-bedrock'],
  dialect: 'bedrock-converse',
  baseUrl: '',
  baseUrlTemplate: 'https://bedrock-runtime.{AWS_REGION|AWS_DEFAULT_REGION|us-east-1}.amazonaws.com',
  regionVariables: ['AWS_REGION', 'AWS_DEFAULT_REGION'],
  keys: ['BEDROCK_API_KEY', 'AWS_BEARER_TOKEN_BEDROCK'],
  keyParts: ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY', 'AWS_SESSION_TOKEN'],
  rules: [
    { model: /anthropic\.claude|amazon\.nova/, quirks: { cacheMarks: 'native' } },
    { model: structuredClaude, quirks: { answerFormat: 'native' } },
  ],
  catalog: 'amazon-bedrock',
})

/** The key of a service account names the project; it may name a location. */
export const vertex = defineProvider({
  ...geminiNative,
  id: 'vertex',
  aliases: ['vertex-ai', 'google-vertex'],
  baseUrl: '',
  baseUrlTemplate:
    'https://aiplatform.googleapis.com/v1/projects/-/locations/{VERTEX_LOCATION|GOOGLE_CLOUD_LOCATION|global}/publishers/google',
  baseUrlVariable: 'VERTEX_BASE_URL',
  keys: ['VERTEX_SERVICE_ACCOUNT'],
  catalog: 'google-vertex',
})

export const ollamaCloud = defineProvider({
  id: 'ollama-cloud',
  aliases: ['ollama'],
  baseUrl: 'https://ollama.com/v1',
  baseUrlVariable: 'OLLAMA_BASE_URL',
  keys: ['OLLAMA_API_KEY'],
  catalog: 'ollama-cloud',
})

/** A local server; available when its address is set. */
export const lmstudio = defineProvider({
  id: 'lmstudio',
  aliases: ['lm-studio'],
  baseUrl: '',
  keys: ['LMSTUDIO_API_KEY'],
  isKeyOptional: true,
})

export const custom = defineProvider({ id: 'custom', dialect: undefined, baseUrl: '', isKeyOptional: true })

export const workersAi = defineProvider({
  id: 'workers-ai',
  aliases: ['cloudflare'],
  dialect: 'workers-ai',
  baseUrl: '',
  baseUrlVariable: '',
  keys: [],
  binding: 'AI',
  defaultModel: '@cf/openai/gpt-oss-120b',
  catalog: 'cloudflare-workers-ai',
})

export const demo = defineProvider({
  id: 'demo',
  dialect: 'demo',
  baseUrl: '',
  baseUrlVariable: '',
  keys: [],
  defaultModel: 'agent',
})
