/** Serves `/api/batches`: many prompts, each in a session of its own, within one budget. */

import * as z from 'zod'
import { modelId } from '#agent/core/request/turn-settings.ts'
import { batchStatuses, itemStatuses } from '#durable/tenant/batches/batch.ts'
import { idempotencyKeyHeader } from '../headers.ts'
import { nameSchemas } from '../schema-names.ts'
import { route } from '../route.ts'
import { created, listOf, ok, pageQuery } from '../shapes.ts'
import { batchParam } from '../openapi/path-params.ts'

const tag = 'Batches'
const scope = 'jobs' as const
const params = { id: batchParam }
const usd = z.number().positive().max(1_000_000)
const time = z.iso.datetime()

const batchShape = z.object({
  id: z.string(),
  name: z.string(),
  status: z.enum(batchStatuses),
  counts: z.object(Object.fromEntries(itemStatuses.map((status) => [status, z.int()]))),
  spent_usd: z.number().describe('Of all prompts that have ended, repeated ones included.'),
  held_usd: z.number().describe('For prompts that run.'),
  budget_usd: z.number().nullable(),
  reason: z.string().nullable().describe('Why it ended before its prompts.'),
  created_at: time,
  ended_at: time.nullable(),
})
nameSchemas({ Batch: batchShape }, { Batch: { id: batchParam.example, name: 'letters', status: 'running' } })

const budget = usd.optional().describe('The prompts together never cost more. Default: no limit of its own.')
export const newBatchSchema = z.strictObject({
  name: z.string().trim().min(1).max(100).default('batch'),
  prompts: z
    .array(z.strictObject({ prompt: z.string().min(1).max(200_000), id: z.string().max(200).optional() }))
    .min(1)
    .max(10_000),
  model: modelId.optional(),
  instructions: z.string().max(20_000).optional(),
  concurrency: z.int().min(1).max(20).default(4).describe('Prompts that run at a time.'),
  budget_usd: budget,
  usd_per_prompt: usd.optional().describe('Held before a prompt starts. Default: an equal share of what is left.'),
  max_steps: z.int().min(1).max(10_000).optional().describe('Model calls of a prompt.'),
  max_output_tokens: z.int().min(1).max(1_000_000).optional().describe('Of one answer. Default with a budget: 4096.'),
})

const serve = () => import('../batches/serve-batches.ts')

export const batchRoutes = [
  route({
    method: 'get',
    path: '/api/batches',
    id: 'listBatches',
    scope,
    tag,
    summary: 'Batches',
    query: z.strictObject(pageQuery),
    responses: ok('Batches, newest first', listOf(batchShape)),
    handle: async (call) => (await serve()).listBatches(call),
  }),
  route({
    method: 'post',
    path: '/api/batches',
    id: 'createBatch',
    scope,
    tag,
    summary: 'Start a batch',
    headers: [idempotencyKeyHeader],
    body: newBatchSchema,
    example: { prompts: [{ prompt: 'Translate into French: Good morning.' }], budget_usd: 1 },
    responses: created('The batch', batchShape),
    handle: async (call) => (await serve()).createBatch(call),
  }),
  route({
    method: 'get',
    path: '/api/batches/:id',
    id: 'getBatch',
    params,
    scope,
    tag,
    summary: 'A batch',
    responses: ok('The batch', batchShape),
    handle: async (call) => (await serve()).getBatch(call),
  }),
  route({
    method: 'delete',
    path: '/api/batches/:id',
    id: 'deleteBatch',
    params,
    scope,
    tag,
    summary: 'Delete a batch; its sessions stay, and what runs is stopped',
    responses: { 204: { description: 'Deleted' } },
    handle: async (call) => (await serve()).deleteBatch(call),
  }),
  route({
    method: 'post',
    path: '/api/batches/:id/cancel',
    id: 'cancelBatch',
    params,
    scope,
    tag,
    summary: 'Stop what runs, and start nothing more',
    responses: ok('The batch', batchShape),
    handle: async (call) => (await serve()).cancelBatch(call),
  }),
  route({
    method: 'post',
    path: '/api/batches/:id/retry',
    id: 'retryBatch',
    params,
    scope,
    tag,
    summary: 'Run again the prompts that have failed, were cancelled or did not start',
    body: z.strictObject({ budget_usd: budget }),
    responses: ok('The batch', batchShape),
    handle: async (call) => (await serve()).retryBatch(call),
  }),
  route({
    method: 'get',
    path: '/api/batches/:id/results',
    id: 'getBatchResults',
    params,
    scope,
    tag,
    summary: 'The prompts with their answers, or their trajectories, as JSON lines',
    query: z.strictObject({
      format: z.enum(['results', 'talaria', 'sharegpt']).default('results').describe('The form of a line.'),
    }),
    responses: { 200: { description: 'One line for each prompt, in their order', type: 'application/jsonl' } },
    handle: async (call) => (await serve()).streamResults(call),
  }),
]
