/** Calls an embedding model with the keys of its provider: a key that fails is suspended, and the next one is tried. */

import type { Endpoint, SendRequest } from '#agent/core/dialect.ts'
import type { Failure } from '#agent/core/failure.ts'
import { classifyError } from '#agent/providers/errors/classify-error.ts'
import { type EmbeddingRequest, type Embeddings, fetchEmbeddings } from '#agent/providers/openai/embeddings.ts'
import { orderKeys } from '#agent/routing/key-selection.ts'
import type { Route } from '#agent/routing/route.ts'
import { clock } from '#durable/platform/clock.ts'
import { withDeadline } from '#durable/platform/timeout.ts'
import { getHealth, leaseKey, suspendKey } from './key-pool.ts'
import { getOpenaiClient } from './lazy-dialect.ts'
import { openEndpoint } from './provider-headers.ts'

const timeoutMs = 60_000

export type EmbeddingCall = {
  readonly env: Env
  readonly tenantId: string
  readonly route: Route
  readonly request: EmbeddingRequest
  readonly promptTokens: number
  /** For addresses that the tenant has named. */
  readonly guardedSend: SendRequest
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
  const { env, tenantId, route, request, promptTokens, guardedSend } = call
  const end = leaseKey(tenantId, endpoint.id, clock.now())
  try {
    const opened = await openEndpoint(env, tenantId, endpoint)
    const client = await getOpenaiClient(opened)
    const send = endpoint.isTenantAddress ? guardedSend : undefined
    const embeddings = await withDeadline(timeoutMs, (signal) => fetchEmbeddings(request, client, { signal, send }))
    return { kind: 'embedded', ...embeddings }
  } catch (error) {
    const { contextWindow, isReasoning, isAggregator } = route
    const facts = { promptTokens, messageCount: 1, isStalled: false, key: endpoint.key, now: clock.now() }
    const failure = classifyError(error, { ...facts, contextWindow, isReasoning, isAggregator })
    const isOnly = route.endpoints.length === 1
    if (endpoint.key) suspendKey(tenantId, endpoint.id, failure, { now: clock.now(), isOnly })
    return { kind: 'failed', failure }
  } finally {
    end()
  }
}
