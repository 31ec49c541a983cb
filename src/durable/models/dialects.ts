/** Lists the dialects of this deployment. A dialect that needs a binding is absent without it. */

import type { Dialect, DialectName } from '../../agent/model/dialect.ts'
import { demo } from '../../agent/providers/demo/demo.ts'
import { openaiChat } from '../../agent/providers/openai/chat.ts'
import { openaiResponses } from '../../agent/providers/openai/responses.ts'
import { type AiBinding, workersAi } from '../../agent/providers/workers-ai/workers-ai.ts'
import { anthropic, bedrock } from './lazy-dialect.ts'

export const createDialects = ({ AI, AI_GATEWAY_ID }: Env): Readonly<Partial<Record<DialectName, Dialect>>> => ({
  'openai-chat': openaiChat,
  'openai-responses': openaiResponses,
  anthropic,
  'bedrock-converse': bedrock,
  ...(AI && { 'workers-ai': workersAi(AI as unknown as AiBinding, AI_GATEWAY_ID) }),
  demo,
})
