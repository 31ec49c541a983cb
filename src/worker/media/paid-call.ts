/** Reserves what a paid call of a request can cost, and bills what it has cost. The call belongs to no session. */

import { historyDb } from '#db/shards/sharded-database.ts'
import { log } from '#agent/core/log.ts'
import { tokensUsed, type Usage } from '#agent/core/usage.ts'
import { hasUsdLimit } from '#agent/policy/spending-limit.ts'
import { addUsage } from '#db/delete-pages.ts'
import { countsSpending, noAmount } from '#durable/tenant/billing/spending.ts'
import { tenantStub } from '#durable/platform/addresses.ts'
import { AppError } from '../errors.ts'
import { requireAdmission } from '../limits.ts'
import type { RouteCall } from '../route.ts'

export type PaidRequest = Pick<RouteCall<unknown, unknown>, 'env' | 'authority' | 'tenant' | 'web'>

type HighestCost = {
  /** `source` of the usage. */
  readonly source: string
  /** provider/model */
  readonly model: string
  readonly tokens: number
  /** Undefined: the price is unknown. */
  readonly usd: number | undefined
}

/** Neither of them rejects: a billing error does not take from the client what is paid. */
export type PaidCall = {
  /** For a call that has cost nothing. */
  readonly release: () => Promise<void>
  readonly bill: (usage: Usage) => Promise<void>
}

/** Throws when a limit leaves no room, or needs a price that is unknown. */
export async function reservePaidCall(
  { env, authority, tenant: { id: tenantId, limits } }: PaidRequest,
  { source, model, tokens, usd }: HighestCost,
): Promise<PaidCall> {
  const id = `${source}_${crypto.randomUUID().replaceAll('-', '')}`
  if (usd === undefined && hasUsdLimit(limits, false))
    throw new AppError(400, 'unsupported', `A limit in USD holds, and the price of ${model} is unknown.`, {
      param: 'model',
    })
  const isCounted = countsSpending(limits)
  if (isCounted) {
    // Without tokens the price is that of the thing itself.
    const demand = { spent: noAmount, held: noAmount, call: { tokens, usd: usd ?? 0 }, isFixed: tokens === 0 }
    const reserved = await tenantStub(env, tenantId).billing.reserve(authority, id, demand)
    if (!reserved.ok) requireAdmission({ ok: false, limit: reserved.limit, retryAfter: reserved.retryAfter })
  }
  const settle = async (amount: typeof noAmount) => {
    if (isCounted) await tenantStub(env, tenantId).billing.settle(authority, id, { ...amount, at: Date.now() })
  }
  const logFailure = (error: unknown) =>
    log.error('paid_call.unbilled', 'The cost of a call could not be recorded.', { error, source, model })
  return {
    release: () => settle(noAmount).catch(logFailure),
    bill: async (usage) => {
      const spent = { runId: id, at: Date.now(), source, model, usage }
      const amount = { tokens: tokensUsed(usage), usd: usage.costUsd }
      await Promise.all([
        settle(amount).catch(logFailure),
        addUsage(historyDb(env, tenantId), tenantId, spent).catch(logFailure),
      ])
    },
  }
}
