/** Names a model for each dialect, and the settings with which the product asks one provider in all of them. */

import type { AnsweringDialect } from '../../../test/agent/providers/support/call-answers.ts'

export const dialectModels: Readonly<Record<AnsweringDialect, string>> = {
  'openai-chat': 'openrouter/some-model',
  'openai-responses': 'xai/some-model',
  anthropic: 'anthropic/claude-sonnet-4-5',
  'bedrock-converse': 'bedrock/anthropic.claude-sonnet-4-5',
}

/** Cases take the dialects in turn. */
export const modelOf = (nth: number): string => Object.values(dialectModels)[nth % 4] ?? ''

export const dialectSettings = (urlOf: (dialect: AnsweringDialect) => string) => ({
  OPENROUTER_API_KEY: 'k',
  OPENROUTER_BASE_URL: urlOf('openai-chat'),
  XAI_API_KEY: 'k',
  XAI_BASE_URL: urlOf('openai-responses'),
  ANTHROPIC_API_KEY: 'k',
  ANTHROPIC_BASE_URL: urlOf('anthropic'),
  BEDROCK_API_KEY: 'k',
  BEDROCK_BASE_URL: urlOf('bedrock-converse'),
})
