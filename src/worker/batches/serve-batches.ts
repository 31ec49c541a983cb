/** Answers the requests to `/api/batches`. It is loaded with the first one. */

import { newBatchId } from '#durable/platform/ids.ts'
import { sessionStub, tenantStub } from '#durable/platform/addresses.ts'
import { textStream } from '#durable/platform/byte-stream.ts'
import { type Batch, type BatchItem, batchesOf } from '#durable/tenant/batches/batch.ts'
import type * as z from 'zod'
import { batchView, listItems, resultOf } from '../batch-view.ts'
import { AppError, notFound } from '../errors.ts'
import { claimIds, releaseOnError, replayHeaders } from '../idempotency.ts'
import { readPosition, renderNextPosition } from '../input/page.ts'
import { resolveRequestedModel } from '../input/requested-model.ts'
import type { RouteCall } from '../route.ts'
import { requireFound } from '../sessions.ts'
import type { newBatchSchema } from '../routes/batches.ts'

type Call = RouteCall<unknown, unknown>
type Page = RouteCall<{ readonly limit: number; readonly cursor?: string | undefined }, unknown>
export type ResultFormat = 'results' | 'talaria' | 'sharegpt'

/** With a budget, so that what a call can cost is known and small. */
const defaultOutputTokens = 4_096

const partOf = ({ env, tenant }: Call) => batchesOf(env, tenant.id)

export async function listBatches(call: Page): Promise<Response> {
  const { limit, cursor } = call.query
  const before = cursor === undefined ? undefined : readPosition(cursor)
  const { data, next } = await partOf(call).list(call.authority, { limit, before })
  return Response.json({ data: data.map(batchView), next_cursor: renderNextPosition(next ?? 0, next !== undefined) })
}

export async function createBatch(call: RouteCall<unknown, z.infer<typeof newBatchSchema>>): Promise<Response> {
  const { authority, env, tenant, body } = call
  const model = resolveRequestedModel(body.model, env, tenant)
  const ids = await claimIds(call, newBatchId())
  return releaseOnError(ids, async () => {
    const maxOutputTokens = body.max_output_tokens ?? (body.budget_usd === undefined ? undefined : defaultOutputTokens)
    const plan = {
      name: body.name,
      model,
      instructions: body.instructions,
      concurrency: body.concurrency,
      budgetUsd: body.budget_usd,
      usdPerPrompt: body.usd_per_prompt,
      maxSteps: body.max_steps,
      maxOutputTokens,
    }
    const outcome = await partOf(call).create(authority, ids.sessionId, plan, body.prompts)
    if (outcome.kind === 'full')
      throw new AppError(409, 'conflict', 'There are 200 batches. Delete some that are not needed any more.')
    if (outcome.kind !== 'created') throw notFound()
    return Response.json(batchView(outcome.batch), { status: 201, headers: replayHeaders(ids) })
  })
}

export async function getBatch(call: Call): Promise<Response> {
  return Response.json(batchView(await find(call)))
}

const find = async (call: Call): Promise<Batch> =>
  requireFound(await partOf(call).get(call.authority, call.param('id')))

export async function deleteBatch(call: Call): Promise<Response> {
  requireFound((await partOf(call).remove(call.authority, call.param('id'))) || undefined)
  return new Response(null, { status: 204 })
}

export async function cancelBatch(call: Call): Promise<Response> {
  return Response.json(batchView(requireFound(await partOf(call).cancel(call.authority, call.param('id')))))
}

export async function retryBatch(
  call: RouteCall<unknown, { readonly budget_usd?: number | undefined }>,
): Promise<Response> {
  const outcome = await partOf(call).retry(call.authority, call.param('id'), { budgetUsd: call.body.budget_usd })
  switch (outcome.kind) {
    case 'running':
      return Response.json(batchView(outcome.batch))
    case 'busy':
      throw new AppError(409, 'conflict', 'The batch is in progress.')
    case 'nothing':
      throw new AppError(409, 'conflict', 'No prompt has failed or was left out.')
    case 'unknown':
      throw notFound()
  }
}

// --- results

export async function streamResults(call: RouteCall<{ readonly format: ResultFormat }, unknown>): Promise<Response> {
  const { id } = await find(call)
  const { format } = call.query
  if (format !== 'results')
    await tenantStub(call.env, call.tenant.id).audit.add(call.authority, {
      kind: 'session.exported',
      subject: id,
      details: { format, batch: true },
    })
  return new Response(textStream(renderLines(call, id, format)), {
    headers: { 'content-type': 'application/jsonl; charset=utf-8', 'x-content-type-options': 'nosniff' },
  })
}

async function* renderLines(call: Call, id: string, format: ResultFormat): AsyncGenerator<string> {
  for await (const item of listItems(call.env, call.authority, id)) {
    const line = format === 'results' ? resultOf(item) : await trajectoryOf(call, item, format)
    if (line) yield `${JSON.stringify(line)}\n`
  }
}

/** Undefined for a prompt without a session, and for one that the key may not open. */
async function trajectoryOf({ env, tenant, authority }: Call, item: BatchItem, format: 'talaria' | 'sharegpt') {
  if (!item.isStarted || item.sessionId === undefined) return undefined
  const { transfer } = sessionStub(env, tenant.id, item.sessionId)
  const exported = { format: format === 'talaria' ? 'json' : format, hasFiles: false } as const
  const body = await transfer.export(authority, exported)
  if (!body) return undefined
  const session = JSON.parse(await new Response(body).text()) as Readonly<Record<string, unknown>>
  if (format === 'talaria') return { ...resultOf(item), ...session }
  return { ...session, prompt_index: item.n, completed: item.status === 'completed' }
}
