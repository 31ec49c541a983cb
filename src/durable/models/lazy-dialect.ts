/** Loads a dialect's code with its first call: a deployment uses few dialects, and a start would wait for all. */

import type { OpenAI } from 'openai'
import type { Dialect, Endpoint } from '#agent/core/dialect.ts'
import { loadAnthropic, loadBedrock, loadDemo, loadGemini, loadOpenai, loadWorkersAi } from '#backends/modules.ts'
import type { AiBinding } from '#agent/providers/workers-ai/workers-ai.ts'

function lazyDialect(load: () => Promise<Dialect>): Dialect {
  let loading: Promise<Dialect> | undefined
  return { call: async (...args) => (await (loading ??= load())).call(...args) }
}

export const openaiChat = lazyDialect(async () => (await loadOpenai()).openaiChat)
export const openaiResponses = lazyDialect(async () => (await loadOpenai()).openaiResponses)
export const anthropic = lazyDialect(async () => (await loadAnthropic()).anthropic)
export const bedrock = lazyDialect(async () => (await loadBedrock()).bedrockConverse((request) => fetch(request)))
export const gemini = lazyDialect(async () => (await loadGemini()).createGemini((request) => fetch(request)))

export const demo = lazyDialect(async () => (await loadDemo()).demo)

export const workersAi = (binding: AiBinding, gatewayId: string | undefined): Dialect =>
  lazyDialect(async () => (await loadWorkersAi()).workersAi(binding, gatewayId))

/** The client of an endpoint, for routes that are no dialect. */
export const getOpenaiClient = async (endpoint: Endpoint): Promise<OpenAI> => (await loadOpenai()).getClient(endpoint)
