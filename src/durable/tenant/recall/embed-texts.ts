/** Embeds texts with the tenant's embedding model. A call is limited and billed like other calls. */

import { log } from '#agent/core/log.ts'
import type { Authority } from '#agent/core/permission/authority.ts'
import type { Limits } from '#agent/core/settings.ts'
import { tokensUsed, type Usage } from '#agent/core/usage.ts'
import { hasUsdLimit } from '#agent/policy/spending-limit.ts'
import { estimateTokens } from '#agent/prompt/estimate-tokens.ts'
import { type Route, resolveRoute } from '#agent/routing/route.ts'
import { addUsage } from '#db/delete-pages.ts'
import { historyDb } from '#db/shards/sharded-database.ts'
import { type RunInBackground, sourcesFor } from '#durable/models/catalog.ts'
import { sendGuarded } from '#durable/models/dialects.ts'
import { billEmbeddings, embed, hasEmbeddings } from '#durable/models/embeddings.ts'
import { highestCost } from '#durable/models/pricing.ts'
import { clock } from '#durable/platform/clock.ts'
import type { TenantBilling } from '../billing/billing.ts'
import { countsSpending, noAmount } from '../billing/spending.ts'
import { createTenantFetch } from '../tenant-fetch.ts'
import { fetchTenantSnapshot } from '../tenant-snapshot.ts'

export type EmbedOptions = {
  readonly env: Env
  readonly tenantId: string
  readonly authority: Authority
  readonly model: string
  readonly billing: Pick<TenantBilling, 'reserve' | 'settle'>
  readonly runInBackground: RunInBackground
}

/** The texts cannot be embedded until a setting or a limit has changed. */
export class CannotEmbed extends Error {}

/** Returns one vector for each text. Throws when the model fails. */
export async function embedTexts(
  options: EmbedOptions,
  texts: readonly string[],
  timeoutMs: number,
): Promise<readonly (readonly number[])[]> {
  const { env, tenantId, model, runInBackground } = options
  const snapshot = await fetchTenantSnapshot(env, tenantId)
  const route = resolveRoute(model, sourcesFor(env, snapshot, runInBackground))
  if (!route || !hasEmbeddings(route)) throw new CannotEmbed(`${model} cannot be used for embeddings.`)
  const promptTokens = texts.reduce((sum, text) => sum + estimateTokens(text), 0)
  const paid = await reserve(options, route, promptTokens, snapshot.limits)
  const result = await embed({
    env,
    tenantId,
    route,
    request: { model: route.model, input: texts },
    promptTokens,
    guardedSend: sendGuarded(createTenantFetch(env, tenantId, runInBackground)),
    timeoutMs,
  })
  if (result.kind === 'failed') {
    paid.settle(undefined)
    throw new Error(`The embedding model ${model} failed: ${result.failure.message}`)
  }
  const usage = billEmbeddings(route, promptTokens, result)
  paid.settle(usage)
  runInBackground(recordUsage(options, route, { runId: paid.runId, usage }))
  if (result.vectors.length !== texts.length) throw new Error(`${model} answered with a wrong number of vectors.`)
  return result.vectors
}

/** Throws when a limit leaves no room, or needs a price that is unknown. */
async function reserve(
  { authority, model, billing }: EmbedOptions,
  route: Route,
  promptTokens: number,
  limits: Limits,
): Promise<{ readonly runId: string; readonly settle: (usage: Usage | undefined) => void }> {
  const runId = `recall_${crypto.randomUUID().replaceAll('-', '')}`
  const { tokens, usd } = highestCost(route, promptTokens, 0)
  if (usd === undefined && hasUsdLimit(limits, false))
    throw new CannotEmbed(`A limit in USD holds, and the price of ${model} is unknown.`)
  if (!countsSpending(limits)) return { runId, settle: () => undefined }
  const demand = { spent: noAmount, held: noAmount, call: { tokens, usd: usd ?? 0 } }
  const reserved = await billing.reserve(authority, runId, demand)
  if (!reserved.ok) throw new CannotEmbed(`The limit ${reserved.limit} is reached.`)
  const amountOf = (usage: Usage | undefined) => (usage ? { tokens: tokensUsed(usage), usd: usage.costUsd } : noAmount)
  return { runId, settle: (usage) => billing.settle(authority, runId, { ...amountOf(usage), at: clock.now() }) }
}

type SpentCall = Pick<Parameters<typeof addUsage>[2], 'runId' | 'usage'>

/** A billing error does not take away what is paid. */
async function recordUsage({ env, tenantId }: EmbedOptions, { id }: Route, spent: SpentCall): Promise<void> {
  try {
    await addUsage(historyDb(env, tenantId), tenantId, { ...spent, at: clock.now(), source: 'recall', model: id })
  } catch (error) {
    log.error('recall.unbilled', 'The cost of embeddings could not be recorded.', { error, model: id })
  }
}
