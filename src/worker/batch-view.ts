/** Renders batches and their prompts as the API shows them, and reads all of a tenant for its export. */

import type { Authority } from '#agent/core/permission/authority.ts'
import { type Batch, type BatchItem, batchesOf } from '#durable/tenant/batches/batch.ts'

const iso = (at: number | undefined): string | null => (at === undefined ? null : new Date(at).toISOString())

export const batchView = ({ id, plan, status, counts, spentUsd, heldUsd, reason, createdAt, endedAt }: Batch) => ({
  id,
  name: plan.name,
  status,
  counts,
  spent_usd: spentUsd,
  held_usd: heldUsd,
  budget_usd: plan.budgetUsd ?? null,
  reason: reason ?? null,
  created_at: iso(createdAt),
  ended_at: iso(endedAt),
})

export const resultOf = ({ n, label, status, prompt, output, error, costUsd, attempt, ...item }: BatchItem) => ({
  n,
  id: label ?? null,
  status,
  prompt,
  output: output ?? null,
  error: error ?? null,
  cost_usd: costUsd ?? null,
  attempt,
  session_id: item.sessionId ?? null,
  run_id: item.runId ?? null,
  started_at: iso(item.startedAt),
  finished_at: iso(item.finishedAt),
})

const pageSize = 50

/** The prompts of a batch in their order. */
export async function* listItems(env: Env, authority: Authority, id: string): AsyncGenerator<BatchItem> {
  for (let after = 0; ;) {
    const items = await batchesOf(env, authority.tenantId).items(authority, id, after, pageSize)
    yield* items
    const last = items.at(-1)
    if (!last || items.length < pageSize) return
    after = last.n
  }
}

/** Reads each batch, followed by its prompts, for the export of a tenant. */
export async function* readBatches(
  env: Env,
  authority: Authority,
): AsyncGenerator<readonly [type: 'batch' | 'batch_prompt', fields: object]> {
  const part = batchesOf(env, authority.tenantId)
  let before: number | undefined
  do {
    const { data, next } = await part.list(authority, { limit: pageSize, before })
    for (const batch of data) {
      const { model, instructions, concurrency, usdPerPrompt, maxSteps, maxOutputTokens } = batch.plan
      const limits = { usd_per_prompt: usdPerPrompt, max_steps: maxSteps, max_output_tokens: maxOutputTokens }
      yield ['batch', { ...batchView(batch), model, instructions, concurrency, ...limits }]
      for await (const item of listItems(env, authority, batch.id))
        yield ['batch_prompt', { batch_id: batch.id, ...resultOf(item) }]
    }
    before = next
  } while (before !== undefined)
}
