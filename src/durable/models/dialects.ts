/** Lists the dialects of this deployment. A dialect that needs a binding is absent without it. */

import type { Dialect, DialectName, SendRequest } from '#agent/core/dialect.ts'
import { repairReplies } from '#agent/providers/shared/repair-reply.ts'
import type { AiBinding } from '#agent/providers/workers-ai/workers-ai.ts'
import { createGuardedFetch, type GuardedFetch } from '#durable/platform/guarded-fetch.ts'
import { anthropic, bedrock, demo, gemini, openaiChat, openaiResponses, workersAi } from './lazy-dialect.ts'
import { openEndpoint } from './provider-headers.ts'

type DialectTenant = { readonly id: string; readonly guardedFetch: GuardedFetch }

/** At addresses that the tenant has named, requests are guarded, and their headers opened only for the request. */
export function createDialects(
  env: Env,
  { id, guardedFetch }: DialectTenant = { id: '', guardedFetch: createGuardedFetch(env) },
): Readonly<Partial<Record<DialectName, Dialect>>> {
  const { AI, AI_GATEWAY_ID } = env
  const guarded = (dialect: Dialect): Dialect => ({
    async call(request, endpoint, options) {
      if (endpoint.subscription) {
        const { callSubscribed } = await import('./call-subscribed.ts')
        return callSubscribed({ env, tenantId: id, dialect }, request, endpoint, options)
      }
      if (!endpoint.isTenantAddress) return dialect.call(request, endpoint, options)
      const opened = await openEndpoint(env, id, endpoint)
      return dialect.call(request, opened, { ...options, send: sendGuarded(guardedFetch) })
    },
  })
  return {
    'openai-chat': repairReplies(guarded(openaiChat)),
    'openai-responses': repairReplies(guarded(openaiResponses)),
    anthropic: repairReplies(guarded(anthropic)),
    'bedrock-converse': repairReplies(guarded(bedrock)),
    gemini: repairReplies(guarded(gemini)),
    ...(AI && { 'workers-ai': repairReplies(workersAi(AI as unknown as AiBinding, AI_GATEWAY_ID)) }),
    demo,
  }
}

/** The turn has its own time limits, and the reader its own limits of size. Redirects are answers that it refuses. */
export const sendGuarded =
  (guardedFetch: GuardedFetch): SendRequest =>
  async ({ url, method, headers, body, signal }) => {
    const limits = { timeoutMs: Infinity, maxBytes: Infinity, ports: 'service' } as const
    return (await guardedFetch({ url, method, headers, body, signal, ...limits })).response
  }
