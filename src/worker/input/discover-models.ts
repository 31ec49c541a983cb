/** Asks a server with OpenAI's or Anthropic's API which models it has, before it becomes a provider of the tenant. */

import type { ModelFacts, ModelTable } from '#agent/providers/catalog/model-facts.ts'
import { parseEndpointModels } from '#agent/providers/catalog/endpoint-models.ts'
import { createTenantFetch } from '#durable/tenant/tenant-fetch.ts'
import { AppError } from '../errors.ts'
import type { RouteCall } from '../route.ts'

export type DiscoverRequest = {
  readonly base_url: string
  readonly key?: string | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
}

const timeoutMs = 20_000
const maxBytes = 8 * 1024 * 1024
const maxModels = 2_000

/** Throws what prevents it. The address of the answer is the one under which the list was found. */
export async function discoverModels(call: RouteCall<unknown, DiscoverRequest>) {
  const base = call.body.base_url.replace(/\/+$/, '')
  for (const address of base.endsWith('/v1') ? [base] : [base, `${base}/v1`]) {
    const models = await listModels(call, address)
    if (models) return { base_url: address, data: Object.entries(models).slice(0, maxModels).map(toView) }
  }
  throw refusal('it has no list of models. Is the address that of the API, such as https://llm.example.com/v1?')
}

/** Undefined when there is no list at the address. */
async function listModels(call: RouteCall<unknown, DiscoverRequest>, address: string): Promise<ModelTable | undefined> {
  const { env, tenant, web, body } = call
  const guardedFetch = createTenantFetch(env, tenant.id, (work) => web.executionCtx.waitUntil(work))
  // Anthropic's API ignores the first header, and the others ignore the second and third.
  const keyed = body.key !== undefined && {
    authorization: `Bearer ${body.key}`,
    'x-api-key': body.key,
    'anthropic-version': '2023-06-01',
  }
  const headers = { accept: 'application/json', ...keyed, ...body.headers }
  const limits = { timeoutMs, maxBytes, ports: 'service' } as const
  try {
    const { response } = await guardedFetch({ url: `${address}/models`, headers, ...limits })
    if (response.ok) return parseEndpointModels(await response.json().catch(() => undefined))
    await response.body?.cancel()
    if (response.status === 401 || response.status === 403)
      throw new AppError(400, 'invalid_request', `The server refuses the key (${response.status}).`, { param: 'key' })
    return undefined
  } catch (error) {
    if (error instanceof AppError) throw error
    const reason = error instanceof Error ? error.message : String(error)
    if (error instanceof Error && error.name === 'BlockedAddress')
      throw new AppError(400, 'blocked_url', reason, { param: 'base_url' })
    throw refusal(reason)
  }
}

const refusal = (reason: string) =>
  new AppError(400, 'invalid_request', `The models cannot be listed: ${reason}`, { param: 'base_url' })

const toView = ([id, facts]: readonly [string, ModelFacts]) => ({
  id,
  context_window: facts.contextWindow ?? null,
  max_output: facts.maxOutput ?? null,
  prices: facts.prices
    ? {
        input: facts.prices.input,
        output: facts.prices.output,
        cached_read: facts.prices.cachedRead,
        cached_write: facts.prices.cachedWrite,
      }
    : null,
  abilities: {
    images: facts.images ?? null,
    audio: facts.audio ?? null,
    reasoning: facts.reasoning ?? null,
    tools: facts.tools ?? null,
  },
})
