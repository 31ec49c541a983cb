/** Lists the dialects of this deployment. A dialect that needs a binding is absent without it. */

import type { Dialect, DialectName, SendRequest } from '../../agent/model/dialect.ts'
import { demo } from '../../agent/providers/demo/demo.ts'
import { openaiChat } from '../../agent/providers/openai/chat.ts'
import { openaiResponses } from '../../agent/providers/openai/responses.ts'
import { type AiBinding, workersAi } from '../../agent/providers/workers-ai/workers-ai.ts'
import { createGuardedFetch, type GuardedFetch } from '../platform/guarded-fetch.ts'
import { anthropic, bedrock } from './lazy-dialect.ts'

/** Requests to addresses that the tenant has named go through `guardedFetch`. */
export function createDialects(
  env: Env,
  guardedFetch: GuardedFetch = createGuardedFetch(env),
): Readonly<Partial<Record<DialectName, Dialect>>> {
  const { AI, AI_GATEWAY_ID } = env
  const guarded = (dialect: Dialect): Dialect => ({
    call: (request, endpoint, options) =>
      dialect.call(
        request,
        endpoint,
        endpoint.isTenantAddress ? { ...options, send: sendGuarded(guardedFetch) } : options,
      ),
  })
  return {
    'openai-chat': guarded(openaiChat),
    'openai-responses': guarded(openaiResponses),
    anthropic: guarded(anthropic),
    'bedrock-converse': guarded(bedrock),
    ...(AI && { 'workers-ai': workersAi(AI as unknown as AiBinding, AI_GATEWAY_ID) }),
    demo,
  }
}

/** The turn has its own time limits, and the reader its own limits of size. Redirects are answers that it refuses. */
const sendGuarded =
  (guardedFetch: GuardedFetch): SendRequest =>
  async ({ url, method, headers, body, signal }) => {
    const limits = { timeoutMs: Infinity, maxBytes: Infinity, ports: 'service' } as const
    return (await guardedFetch({ url, method, headers, body, signal, ...limits })).response
  }
