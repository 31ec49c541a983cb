/** Lists the test harness of every dialect. */

import { anthropic } from '../../../../src/agent/providers/anthropic/anthropic.ts'
import { bedrockConverse } from '../../../../src/agent/providers/bedrock/bedrock.ts'
import { openaiChat } from '../../../../src/agent/providers/openai/chat.ts'
import { openaiResponses } from '../../../../src/agent/providers/openai/responses.ts'
import type { DialectHarness } from './conformance.ts'
import { exchangeOverHttp } from './exchange.ts'
import { findAnthropicViolations } from '../fakes/anthropic.ts'
import { findBedrockViolations } from '../fakes/bedrock.ts'
import { findChatViolations } from '../fakes/openai-chat.ts'
import { findResponsesViolations } from '../fakes/openai-responses.ts'
import { exchangeOverBinding, findWorkersAiViolations } from '../fakes/workers-ai.ts'
import { anthropicResponses } from '../fixtures/anthropic.ts'
import { bedrockResponses } from '../fixtures/bedrock.ts'
import { chatResponses } from '../fixtures/openai-chat.ts'
import { responsesResponses } from '../fixtures/openai-responses.ts'
import { workersAiResponses } from '../fixtures/workers-ai.ts'

export const dialectHarnesses: readonly DialectHarness[] = [
  {
    name: 'openai-chat',
    exchange: exchangeOverHttp(openaiChat),
    findViolations: findChatViolations,
    responses: chatResponses,
  },
  {
    name: 'anthropic',
    exchange: exchangeOverHttp(anthropic),
    findViolations: findAnthropicViolations,
    responses: anthropicResponses,
    thinkingQuirks: { reasoning: 'adaptive' },
  },
  {
    name: 'bedrock-converse',
    exchange: exchangeOverHttp(
      bedrockConverse((request) => fetch(request)),
      { key: 'AKIAEXAMPLE:secret', contentType: 'application/vnd.amazon.eventstream' },
    ),
    findViolations: findBedrockViolations,
    responses: bedrockResponses,
    thinkingQuirks: { reasoning: 'budget' },
  },
  {
    name: 'openai-responses',
    exchange: exchangeOverHttp(openaiResponses),
    findViolations: findResponsesViolations,
    responses: responsesResponses,
    thinkingQuirks: { reasoning: 'effort' },
  },
  {
    name: 'workers-ai',
    exchange: exchangeOverBinding,
    findViolations: findWorkersAiViolations,
    responses: workersAiResponses,
  },
]
