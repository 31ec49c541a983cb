/** Calls an embedding model with the keys of its provider: a key that fails is suspended, and the next one is tried. */

import type { Endpoint, SendRequest } from '#agent/core/dialect.ts'
import type { Failure } from '#agent/core/failure.ts'
import { type EmbeddingRequest, type Embeddings, fetchEmbeddings } from '#agent/providers/openai/embeddings.ts'
import { orderKeys } from '#agent/routing/key-selection.ts'
import * as z from 'zod'
import type { Route } from '#agent/routing/route.ts'
import { noUsage, tallyKey, type Usage, usageOfCall } from '#agent/core/usage.ts'
import type { AiBinding } from '#agent/providers/workers-ai/workers-ai.ts'
import { addCost } from './pricing.ts'
import { clock } from '#durable/platform/clock.ts'
import { withDeadline, withTimeout } from '#durable/platform/timeout.ts'
import { getHealth, leaseKey, suspendKey } from './key-pool.ts'
import { getOpenaiClient } from './lazy-dialect.ts'
import { openEndpoint } from './provider-headers.ts'

const defaultTimeoutMs = 60_000

export type EmbeddingCall = {
  readonly env: Env
  readonly tenantId: string
  readonly route: Route
  readonly request: EmbeddingRequest
  readonly promptTokens: number
  /** For addresses that the tenant has named. */
  readonly guardedSend: SendRequest
  readonly timeoutMs?: number
}

export type EmbeddingResult =
  | ({ readonly kind: 'embedded' } & Embeddings)
  | { readonly kind: 'failed'; readonly failure: Failure }

export async function embed(call: EmbeddingCall): Promise<EmbeddingResult> {
  let failure: Failure = { kind: 'unconfigured', message: `${call.route.id} has no usable key.` }
  for (const endpoint of listEndpoints(call)) {
    const result = await attempt(call, endpoint)
    if (result.kind === 'embedded') return result
    failure = result.failure
    if (!isKeyFailure(failure)) break
  }
  return { kind: 'failed', failure }
}

const isKeyFailure = ({ kind }: Failure): boolean => ['auth', 'key-dead', 'quota', 'rate'].includes(kind)

function listEndpoints({ tenantId, route: { endpoints } }: EmbeddingCall): readonly Endpoint[] {
  if (endpoints.length === 1) return endpoints
  const names = orderKeys(
    endpoints.map(({ id }) => id),
    getHealth(tenantId),
    { strategy: 'fill_first', now: clock.now(), random: 0 },
  )
  return names.flatMap((name) => endpoints.find(({ id }) => id === name) ?? [])
}

async function attempt(call: EmbeddingCall, endpoint: Endpoint): Promise<EmbeddingResult> {
  const { env, tenantId, route, request, promptTokens, guardedSend, timeoutMs = defaultTimeoutMs } = call
  const end = leaseKey(tenantId, endpoint.id, clock.now())
  try {
    if (route.dialect === 'workers-ai')
      return { kind: 'embedded', ...(await withTimeout(runOnPlatform(env, request), timeoutMs, failOverdue)) }
    const opened = await openEndpoint(env, tenantId, endpoint)
    const client = await getOpenaiClient(opened)
    const send = endpoint.isTenantAddress ? guardedSend : undefined
    const embeddings = await withDeadline(timeoutMs, (signal) => fetchEmbeddings(request, client, { signal, send }))
    return { kind: 'embedded', ...embeddings }
  } catch (error) {
    const { contextWindow, isReasoning, isAggregator } = route
    const facts = { promptTokens, messageCount: 1, isStalled: false, key: endpoint.key, now: clock.now() }
    const { classifyError } = await import('#agent/providers/errors/classify-error.ts')
    const failure = classifyError(error, { ...facts, contextWindow, isReasoning, isAggregator })
    const isOnly = route.endpoints.length === 1
    if (endpoint.key) suspendKey(tenantId, endpoint.id, failure, { now: clock.now(), isOnly })
    return { kind: 'failed', failure }
  } finally {
    end()
  }
}

/** Whether a route can embed texts: every server with OpenAI's API, and the binding of Workers AI. */
export const hasEmbeddings = ({ dialect }: Pick<Route, 'dialect'>): boolean =>
  dialect.startsWith('openai-') || dialect === 'workers-ai'

const failOverdue = (): never => {
  throw new DOMException('The operation was aborted due to timeout', 'TimeoutError')
}

const platformAnswer = z.looseObject({ data: z.array(z.array(z.number())).max(10_000) })

/** The binding has no signal: its answer is dropped after the deadline of the caller. */
async function runOnPlatform({ AI, AI_GATEWAY_ID }: Env, { model, input }: EmbeddingRequest): Promise<Embeddings> {
  const run = AI as unknown as AiBinding | undefined
  const options = AI_GATEWAY_ID ? { gateway: { id: AI_GATEWAY_ID } } : {}
  const { data } = platformAnswer.parse(await run?.run(model, { text: input }, options))
  return { vectors: data, tokens: undefined, cost: undefined }
}

/** The usage of a call, by what the provider reports, or by an estimate of its tokens. */
export function billEmbeddings(
  route: Route,
  promptTokens: number,
  { cost, tokens }: Pick<Embeddings, 'cost' | 'tokens'>,
): Usage {
  const input = tokens ?? promptTokens
  const counts =
    cost === undefined
      ? addCost({ ...noUsage, input, costStatus: 'unknown' }, route)
      : { ...noUsage, input, costUsd: cost, costStatus: 'actual' as const }
  return usageOfCall(counts, tallyKey(route.id, 'embeddings'), tokens === undefined)
}
