/** Serves `/api/jobs`: prompts and scripts that run at their times. */

import * as z from 'zod'
import { jobChangeSchema, jobRunStatuses, newJobSchema } from '#agent/schedule/job/job.ts'
import { parseTargets } from '#agent/schedule/job/targets.ts'
import { newJobId } from '#durable/platform/ids.ts'
import type { JobChanged, JobCreated } from '#durable/tenant/jobs/jobs.ts'
import type { JobView } from '#durable/tenant/jobs/job-view.ts'
import { webhookSecret } from '#durable/tenant/jobs/webhook-signature.ts'
import { tenantStub } from '#durable/platform/addresses.ts'
import { AppError, invalid, notFound } from '../errors.ts'
import { idempotencyKeyHeader } from '../headers.ts'
import { claimIds, releaseOnError, replayHeaders } from '../idempotency.ts'
import { readPosition, renderNextPosition } from '../input/page.ts'
import { requireAdmission } from '../limits.ts'
import { type RouteCall, route } from '../route.ts'
import { nameSchemas } from '../schema-names.ts'
import { requireFound } from '../sessions.ts'
import { created, listOf, ok, pageQuery } from '../shapes.ts'
import { jobParam, projectParam } from '../openapi/path-params.ts'

const tag = 'Jobs'
const scope = 'jobs' as const

const time = z.iso.datetime()
const runStatus = z.enum(jobRunStatuses)

const jobShape = z.object({
  id: z.string(),
  name: z.string(),
  prompt: z.string(),
  schedule: z.string(),
  schedule_kind: z.enum(['once', 'interval', 'cron']),
  display: z.string(),
  timezone: z.string().nullable(),
  repeat: z.int().nullable(),
  run_count: z.int().describe('Scheduled runs so far.'),
  state: z.enum(['scheduled', 'paused', 'completed']),
  enabled: z.boolean(),
  next_run_at: time.nullable(),
  last_run_at: time.nullable(),
  last_status: runStatus.nullable(),
  last_error: z.string().nullable(),
  last_delivery_error: z.string().nullable(),
  failure_streak: z.int(),
  deliver: z.string(),
  skills: z.array(z.string()),
  model: z.string().nullable(),
  expected_model: z.string().nullable().describe('The default model that a job without a pinned one was made for.'),
  script: z.string().nullable(),
  no_agent: z.boolean(),
  monitor_script: z.string().nullable(),
  monitor_url: z.string().nullable(),
  context_from: z.array(z.string()),
  continuity: z.boolean(),
  enabled_toolsets: z.array(z.string()).nullable(),
  workdir: z.string().nullable(),
  project_id: z.string().nullable(),
  attach_to_session: z.boolean(),
  max_turns: z.int().nullable(),
  max_usd: z.number().nullable(),
  origin_session_id: z.string().nullable(),
  webhook_secret: z.string().optional().describe('Signs results that go to an address: X-Webhook-Signature-V2.'),
  created_at: time,
  updated_at: time,
})

const jobRunShape = z.object({
  id: z.string(),
  job_id: z.string(),
  slot: time.describe('When it was due; of a manual run the time of the request.'),
  status: runStatus,
  manual: z.boolean(),
  started_at: time.nullable(),
  finished_at: time.nullable(),
  late_ms: z.int().nullable(),
  session_id: z.string().nullable(),
  run_id: z.string().nullable(),
  output: z.string().nullable(),
  error: z.string().nullable(),
  delivery_error: z.string().nullable(),
  slots: z.int().describe('Slots that this record stands for.'),
})
nameSchemas(
  { Job: jobShape, JobRun: jobRunShape },
  {
    Job: {
      id: jobParam.example,
      name: 'Morning report',
      prompt: 'Summarise what is new in the repository.',
      schedule: '0 9 * * 1-5',
      schedule_kind: 'cron',
      display: '0 9 * * 1-5',
      timezone: 'Europe/Berlin',
      enabled: true,
      deliver: 'local',
      skills: [],
      context_from: [],
    },
    JobRun: {
      id: 'jobrun_5b1f0c9e8a7d4e62',
      job_id: jobParam.example,
      status: 'completed',
      output: 'The report has three findings.',
    },
  },
)

const jobs = ({ env, tenant }: Pick<RouteCall<unknown, unknown>, 'env' | 'tenant'>) => tenantStub(env, tenant.id).jobs

/** Returns the job, or throws the error that says why it was not stored. */
function requireChanged(outcome: JobCreated | JobChanged): JobView {
  switch (outcome.kind) {
    case 'changed':
      return outcome.job
    case 'wrong':
      throw invalid(outcome.message, outcome.param)
    case 'full':
      requireAdmission({ ok: false, limit: 'jobs', retryAfter: 3_600 })
      throw notFound()
    case 'unknown':
    case 'foreign':
      throw notFound()
  }
}

/** Only the API shows the secret: models do not need it. */
async function answerJob(
  { env, tenant }: RouteCall<unknown, unknown>,
  job: JobView,
  init: ResponseInit = {},
): Promise<Response> {
  const parsed = parseTargets(job.deliver)
  const hasWebhook = parsed.ok && parsed.targets.some(({ kind }) => kind === 'webhook')
  const secret = hasWebhook ? await webhookSecret(env, tenant.id, job.id) : undefined
  return Response.json({ ...job, ...(secret !== undefined && { webhook_secret: secret }) }, init)
}

const beforeOf = (cursor: string | undefined) => (cursor === undefined ? undefined : readPosition(cursor))

const nextCursor = (next: number | undefined) => renderNextPosition(next ?? 0, next !== undefined)

export const jobRoutes = [
  route({
    method: 'get',
    path: '/api/jobs',
    id: 'listJobs',
    scope,
    tag,
    summary: 'Jobs',
    query: z.strictObject({
      ...pageQuery,
      project: z
        .string()
        .min(1)
        .max(100)
        .optional()
        .meta({ description: 'Only jobs of this project.', example: projectParam.example }),
    }),
    responses: ok('Jobs, newest first', listOf(jobShape)),
    handle: async (call) => {
      const { limit, cursor, project } = call.query
      const { data, next } = await jobs(call).list(call.authority, { limit, before: beforeOf(cursor), project })
      return Response.json({ data, next_cursor: nextCursor(next) })
    },
  }),
  route({
    method: 'post',
    path: '/api/jobs',
    id: 'createJob',
    scope,
    tag,
    summary: 'Create a job',
    headers: [idempotencyKeyHeader],
    example: { name: 'Morning news', schedule: '0 9 * * 1-5', prompt: 'Sum up the news about tides.' },
    body: newJobSchema,
    responses: created('The job', jobShape),
    handle: async (call) => {
      const ids = await claimIds(call, newJobId())
      return releaseOnError(ids, async () => {
        const job = requireChanged(await jobs(call).create(call.authority, call.body, { id: ids.sessionId }))
        return answerJob(call, job, { status: 201, headers: replayHeaders(ids) })
      })
    },
  }),
  route({
    method: 'get',
    path: '/api/jobs/:id',
    id: 'getJob',
    params: { id: jobParam },
    scope,
    tag,
    summary: 'A job by its id or name',
    responses: ok('The job', jobShape),
    handle: async (call) => answerJob(call, requireFound(await jobs(call).get(call.authority, call.param('id')))),
  }),
  route({
    method: 'patch',
    path: '/api/jobs/:id',
    id: 'updateJob',
    params: { id: jobParam },
    scope,
    tag,
    summary: 'Change a job; null removes a field, and runs in progress keep the old one',
    body: jobChangeSchema,
    responses: ok('The job', jobShape),
    handle: async (call) =>
      answerJob(call, requireChanged(await jobs(call).update(call.authority, call.param('id'), call.body))),
  }),
  route({
    method: 'delete',
    path: '/api/jobs/:id',
    id: 'deleteJob',
    params: { id: jobParam },
    scope,
    tag,
    summary: 'Delete a job with its runs; a run in progress is stopped',
    responses: { 204: { description: 'Deleted' } },
    handle: async (call) => {
      requireFound((await jobs(call).remove(call.authority, call.param('id'))) || undefined)
      return new Response(null, { status: 204 })
    },
  }),
  route({
    method: 'post',
    path: '/api/jobs/:id/pause',
    id: 'pauseJob',
    params: { id: jobParam },
    scope,
    tag,
    summary: 'Pause a job; a run in progress goes on',
    responses: ok('The job', jobShape),
    handle: async (call) => answerJob(call, requireChanged(await jobs(call).pause(call.authority, call.param('id')))),
  }),
  route({
    method: 'post',
    path: '/api/jobs/:id/resume',
    id: 'resumeJob',
    params: { id: jobParam },
    scope,
    tag,
    summary: 'Resume a job; times that have passed meanwhile do not run',
    responses: ok('The job', jobShape),
    handle: async (call) => answerJob(call, requireChanged(await jobs(call).resume(call.authority, call.param('id')))),
  }),
  route({
    method: 'post',
    path: '/api/jobs/:id/run',
    id: 'runJob',
    params: { id: jobParam },
    scope,
    tag,
    summary: 'Run a job now, besides its schedule; a paused job is resumed',
    headers: [idempotencyKeyHeader],
    responses: { 202: { description: 'The run', schema: jobRunShape } },
    handle: async (call) => {
      const ids = await claimIds(call, call.param('id'))
      return releaseOnError(ids, async () => {
        const runId = ids.runId.replace(/^run_([0-9a-f]{16}).*$/s, 'jobrun_$1')
        const outcome = await jobs(call).run(call.authority, call.param('id'), runId)
        if (outcome.kind === 'busy') throw new AppError(409, 'conflict', 'A run of this job is in progress.')
        if (outcome.kind !== 'claimed') throw notFound()
        return Response.json(outcome.run, { status: 202, headers: replayHeaders(ids) })
      })
    },
  }),
  route({
    method: 'get',
    path: '/api/jobs/:id/runs',
    id: 'listJobRuns',
    params: { id: jobParam },
    scope,
    tag,
    summary: 'Runs of a job, and slots that did not run',
    query: z.strictObject(pageQuery),
    responses: ok('Runs, newest first', listOf(jobRunShape)),
    handle: async (call) => {
      const page = { limit: call.query.limit, before: beforeOf(call.query.cursor) }
      const { data, next } = requireFound(await jobs(call).runs(call.authority, call.param('id'), page))
      return Response.json({ data, next_cursor: nextCursor(next) })
    },
  }),
]
