/** Every dialect that a provider of ours speaks, as the suites ask for them. */

import { anthropic } from '../../../../src/agent/providers/anthropic/anthropic.ts'
import { bedrockConverse } from '../../../../src/agent/providers/bedrock/bedrock.ts'
import { openaiChat } from '../../../../src/agent/providers/openai/chat.ts'
import { openaiResponses } from '../../../../src/agent/providers/openai/responses.ts'
import type { Wire } from './conformance.ts'
import { overHttp } from './exchange.ts'
import { anthropicFaults } from '../fakes/anthropic.ts'
import { bedrockFaults } from '../fakes/bedrock.ts'
import { chatFaults } from '../fakes/openai-chat.ts'
import { validateResponses } from '../fakes/responses.ts'
import { throughBinding, workersAiFaults } from '../fakes/workers-ai.ts'
import { anthropicAnswers } from '../fixtures/anthropic.ts'
import { bedrockAnswers } from '../fixtures/bedrock.ts'
import { chatAnswers } from '../fixtures/openai-chat.ts'
import { responsesAnswers } from '../fixtures/openai-responses.ts'
import { workersAiAnswers } from '../fixtures/workers-ai.ts'

export const wires: readonly Wire[] = [
  { name: 'openai-chat', exchange: overHttp(openaiChat), faults: chatFaults, answers: chatAnswers },
  {
    name: 'anthropic',
    exchange: overHttp(anthropic),
    faults: anthropicFaults,
    answers: anthropicAnswers,
    thinking: { reasoning: 'adaptive' },
  },
  {
    name: 'bedrock-converse',
    exchange: overHttp(
      bedrockConverse((request) => fetch(request)),
      { key: 'AKIAEXAMPLE:secret', type: 'application/vnd.amazon.eventstream' },
    ),
    faults: bedrockFaults,
    answers: bedrockAnswers,
    thinking: { reasoning: 'budget' },
  },
  {
    name: 'openai-responses',
    exchange: overHttp(openaiResponses),
    faults: validateResponses,
    answers: responsesAnswers,
    thinking: { reasoning: 'effort' },
  },
  { name: 'workers-ai', exchange: throughBinding, faults: workersAiFaults, answers: workersAiAnswers },
]
