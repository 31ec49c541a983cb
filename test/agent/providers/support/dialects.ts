/** Lists the test harness of every dialect. */

import { anthropic } from '#backends/dialects/anthropic.ts'
import { bedrockConverse } from '#agent/providers/bedrock/bedrock.ts'
import { createGemini } from '#agent/providers/gemini/gemini.ts'
import { openaiChat, openaiResponses } from '#backends/dialects/openai.ts'
import type { DialectHarness } from './conformance.ts'
import { exchangeOverHttp } from './exchange.ts'
import { findAnthropicViolations } from '../fakes/anthropic.ts'
import { findBedrockViolations } from '../fakes/bedrock.ts'
import { findGeminiViolations } from '../fakes/gemini.ts'
import { findChatViolations } from '../fakes/openai-chat.ts'
import { findResponsesViolations } from '../fakes/openai-responses.ts'
import { exchangeOverBinding, findWorkersAiViolations } from '../fakes/workers-ai.ts'
import { anthropicRecordings } from '../fixtures/anthropic.ts'
import { bedrockRecordings } from '../fixtures/bedrock.ts'
import { geminiRecordings } from '../fixtures/gemini.ts'
import { chatRecordings } from '../fixtures/openai-chat.ts'
import { responsesRecordings } from '../fixtures/openai-responses.ts'
import { workersAiRecordings } from '../fixtures/workers-ai.ts'

const gemini = createGemini((request) => fetch(request))

export const dialectHarnesses: readonly DialectHarness[] = [
  {
    name: 'openai-chat',
    exchange: exchangeOverHttp(openaiChat),
    findViolations: findChatViolations,
    recordings: chatRecordings,
  },
  {
    name: 'anthropic',
    exchange: exchangeOverHttp(anthropic),
    findViolations: findAnthropicViolations,
    recordings: anthropicRecordings,
    thinkingQuirks: { reasoning: 'adaptive' },
  },
  {
    name: 'bedrock-converse',
    exchange: exchangeOverHttp(
      bedrockConverse((request) => fetch(request)),
      { key: 'AKIAEXAMPLE:secret', contentType: 'application/vnd.amazon.eventstream' },
    ),
    findViolations: findBedrockViolations,
    recordings: bedrockRecordings,
    thinkingQuirks: { reasoning: 'budget' },
  },
  {
    name: 'gemini',
    exchange: exchangeOverHttp(gemini),
    findViolations: findGeminiViolations,
    recordings: geminiRecordings,
  },
  {
    name: 'openai-responses',
    exchange: exchangeOverHttp(openaiResponses),
    findViolations: findResponsesViolations,
    recordings: responsesRecordings,
    thinkingQuirks: { reasoning: 'effort' },
  },
  {
    name: 'workers-ai',
    exchange: exchangeOverBinding,
    findViolations: findWorkersAiViolations,
    recordings: workersAiRecordings,
  },
]
