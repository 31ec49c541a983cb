/** `/v1/embeddings`: passes texts to a provider that speaks OpenAI's API. It is billed and limited like other calls. */

import * as z from 'zod'
import { estimateTokens } from '#agent/prompt/estimate-tokens.ts'
import { renderFailure } from '#agent/public-api/run-failure.ts'
import { getModelRequirement, type Route, resolveRoute, splitModelId } from '#agent/routing/route.ts'
import { sourcesFor } from '#durable/models/catalog.ts'
import { sendGuarded } from '#durable/models/dialects.ts'
import { billEmbeddings, embed } from '#durable/models/embeddings.ts'
import { isVirtualModel } from '#durable/models/model-routes.ts'
import { highestCost } from '#durable/models/pricing.ts'
import { createTenantFetch } from '#durable/tenant/tenant-fetch.ts'
import { AppError, invalid, runFailed } from '../../errors.ts'
import { idempotencyKeyHeader } from '../../headers.ts'
import { answerOnce } from '../../media/answer-once.ts'
import { reservePaidCall } from '../../media/paid-call.ts'
import { type RouteCall, route } from '../../route.ts'
import { ok } from '../../shapes.ts'
import { encodeBase64Bytes } from '#agent/core/base64.ts'

const tokens = z.array(z.int().min(0)).min(1).max(100_000)
const body = z.strictObject({
  model: z.string().max(300).describe('provider/model, or the name of a model of `openai`.'),
  input: z.union([
    z.string().min(1),
    z.array(z.string().min(1)).min(1).max(2_048),
    tokens,
    z.array(tokens).min(1).max(2_048),
  ]),
  encoding_format: z.enum(['float', 'base64']).nullish(),
  dimensions: z.int().min(1).max(100_000).nullish(),
  user: z.string().nullish(),
})
type EmbeddingsCall = RouteCall<unknown, z.infer<typeof body>>

const shape = z.object({
  object: z.literal('list'),
  data: z.array(
    z.object({
      object: z.literal('embedding'),
      index: z.int(),
      embedding: z.union([z.array(z.number()), z.string().describe('Base64 of 32-bit numbers, little-endian.')]),
    }),
  ),
  model: z.string(),
  usage: z.object({ prompt_tokens: z.int(), total_tokens: z.int() }),
})

export const embeddingRoutes = [
  route({
    method: 'post',
    path: '/v1/embeddings',
    id: 'createEmbedding',
    scope: 'chat',
    tag: 'OpenAI',
    summary: 'Vectors of texts, by a configured provider',
    example: { model: 'openai/text-embedding-3-small', input: 'The tide is high.' },
    body,
    responses: ok('OpenAI list', shape),
    headers: [idempotencyKeyHeader],
    handle: (call) => answerOnce(call, () => createEmbeddings(call)),
  }),
]

async function createEmbeddings(call: EmbeddingsCall): Promise<Response> {
  const { env, tenant, web, body: request } = call
  const model = findModel(call)
  const promptTokens = countTokens(request.input)
  const paid = await reservePaidCall(call, { source: 'embeddings', ...highestCost(model, promptTokens, 0) })
  const { input, dimensions } = request
  const result = await embed({
    env,
    tenantId: tenant.id,
    route: model,
    request: { model: model.model, input, ...(dimensions != null && { dimensions }) },
    promptTokens,
    guardedSend: sendGuarded(createTenantFetch(env, tenant.id, (work) => web.executionCtx.waitUntil(work))),
  })
  if (result.kind === 'failed') {
    await paid.release()
    throw runFailed(renderFailure(result.failure, 'There are no embeddings'), {})
  }
  const used = result.tokens ?? promptTokens
  await paid.bill(billEmbeddings(model, promptTokens, result))
  return Response.json({
    object: 'list',
    data: result.vectors.map((vector, index) => ({
      object: 'embedding',
      index,
      embedding: request.encoding_format === 'base64' ? encodeVector(vector) : vector,
    })),
    model: request.model,
    usage: { prompt_tokens: used, total_tokens: used },
  })
}

const encodeVector = (vector: readonly number[]): string =>
  encodeBase64Bytes(new Uint8Array(new Float32Array(vector).buffer))

const countTokens = (input: EmbeddingsCall['body']['input']): number => {
  const parts = typeof input === 'string' ? [input] : input
  return parts.reduce<number>(
    (sum, part) => sum + (typeof part === 'string' ? estimateTokens(part) : typeof part === 'number' ? 1 : part.length),
    0,
  )
}

/** A name without a provider is one of OpenAI's, as clients send it. */
function findModel({ env, tenant, web, body: { model } }: EmbeddingsCall): Route {
  if (isVirtualModel(model))
    throw invalid('The agent has no embeddings. Name a model, for example openai/text-embedding-3-small.', 'model')
  const sources = sourcesFor(env, tenant, (work) => web.executionCtx.waitUntil(work))
  const id = model.includes('/') ? model : `openai/${model}`
  const found = resolveRoute(id, sources)
  if (found?.dialect.startsWith('openai-')) return found
  const reason = found
    ? `${found.provider} has no embeddings here`
    : (getModelRequirement(id, sources) ?? `${splitModelId(id)[0]} cannot be used`)
  throw new AppError(
    501,
    'not_configured',
    `There are no embeddings of ${id.slice(0, 200)}: ${reason}. Every configured provider with OpenAI's API can be named as provider/model.`,
    { param: 'model' },
  )
}
