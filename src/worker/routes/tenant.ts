/** Routes of the whole tenant: settings, search, and questions of the agent. */

import * as z from 'zod'
import type { SearchFilter } from '#agent/core/tool.ts'
import { type Settings, settingsSchema } from '#agent/core/settings.ts'
import { maskHeaders } from '#agent/core/secrets/provider-headers.ts'
import { openHistory } from '#db/history.ts'
import { createFindSimilar } from '#durable/tenant/recall/find-similar.ts'
import { findWrongDate, readDay } from '#db/search/period.ts'
import { describeElicitation, type ElicitationAnswer } from '#agent/core/pending-request.ts'
import { elicitationFields } from '../openapi/elicitation.ts'
import { isQuestion } from '#durable/turn/pending-requests.ts'
import { forgetSnapshot } from '#durable/tenant/tenant-snapshot.ts'
import { tenantStub } from '#durable/platform/addresses.ts'
import { AppError, notFound } from '../errors.ts'
import { pageByKey, readPosition, renderNextPosition } from '../input/page.ts'
import { route } from '../route.ts'
import { sealHeaders } from '../secrets/seal-headers.ts'
import { requireKnownSettings } from '../input/known-settings.ts'
import { requirePromptSettings } from '../input/prompt-settings.ts'
import { policyError, validatePatch, settingsError } from '../input/settings-patch.ts'
import { addressSession, splitRequestId } from '../sessions.ts'
import { pageLimit, listOf, ok, pageQuery } from '../shapes.ts'
import { nameSchemas } from '../schema-names.ts'
import { questionParam, sessionParam } from '../openapi/path-params.ts'

const questionShape = z.object({
  id: z.string(),
  session_id: z.string(),
  run_id: z.string(),
  question: z.string(),
  choices: z.array(z.string()),
  multi_select: z.boolean(),
  ...elicitationFields,
})

type AnswerBody = {
  readonly answer?: string | readonly string[] | undefined
  readonly action?: ElicitationAnswer['action'] | undefined
  readonly content?: Readonly<Record<string, unknown>> | undefined
}

function readAnswer({ answer, action, content }: AnswerBody): string | ElicitationAnswer {
  if ((answer === undefined) === (action === undefined))
    throw new AppError(400, 'invalid_request', 'Give either answer or action.', { param: 'answer' })
  if (action !== undefined) return { action, content }
  return typeof answer === 'string' ? answer : (answer ?? []).join(', ')
}

const hitShape = z.object({
  session_id: z.string(),
  title: z.string().nullable(),
  source: z.string(),
  link: z.string().describe('Names the session in messages to the agent: @session:ID.'),
  message_id: z.string(),
  role: z.string(),
  message_source: z.string().optional(),
  at: z.iso.datetime(),
  snippet: z.string(),
})
nameSchemas(
  { Question: questionShape, SearchHit: hitShape },
  {
    Question: {
      id: questionParam.example,
      session_id: sessionParam.example,
      question: 'Which branch?',
      choices: ['main', 'develop'],
    },
    SearchHit: {
      session_id: sessionParam.example,
      title: 'Quarterly report',
      snippet: 'The report has three findings.',
    },
  },
)

const day = z
  .string()
  .regex(/^\d{4}(-\d{2}){0,2}$/)
  .refine((text) => readDay(text) !== undefined)
  .meta({ example: '2026-06' })
  .optional()

type FilterQuery = Readonly<
  Partial<Record<'after' | 'before' | 'source' | 'session' | 'role' | 'from', string | undefined>>
>

const filterOf = ({ after, before, source, session, role, from }: FilterQuery): SearchFilter => ({
  ...(after && { from: readDay(after) }),
  ...(before && { to: readDay(before) }),
  ...(source && { source }),
  ...(session && { session }),
  ...(role && { role }),
  ...(from && { person: from }),
})

export const tenantRoutes = [
  route({
    method: 'get',
    path: '/api/settings',
    id: 'getSettings',
    scope: 'read',
    tag: 'Settings',
    summary: 'Settings of the tenant',
    responses: ok('The settings', settingsSchema),
    handle: async ({ env, tenant }) => Response.json(maskHeaders(await tenantStub(env, tenant.id).settings.get())),
  }),
  route({
    method: 'patch',
    path: '/api/settings',
    id: 'updateSettings',
    scope: 'write',
    tag: 'Settings',
    summary: 'Change any part of the settings; null removes one',
    description: 'Any part of the settings. What policy protects needs a key with the scope `approve`.',
    example: { model: { default: 'openai/gpt-5.2' }, timezone: 'Europe/Berlin' },
    body: z.looseObject({}).describe('Any part of the settings that GET returns; null removes one.'),
    responses: ok('The changed settings', settingsSchema),
    handle: async ({ env, authority, tenant, body }) => {
      validatePatch(body)
      requireKnownSettings(body as Settings, 'tenant')
      const stored = await tenantStub(env, tenant.id).settings.get()
      requirePromptSettings(body as Settings, stored)
      const { requireKnownModels } = await import('../input/known-models.ts')
      requireKnownModels(body, env, { id: tenant.id, settings: stored })
      const sealed = await sealHeaders(env, tenant.id, body, stored)
      const patched = await tenantStub(env, tenant.id).settings.patch(authority, sealed)
      if (patched.kind === 'foreign') throw notFound()
      if (patched.kind === 'policy') throw policyError(patched.at, 'Changing it needs a key with the scope "approve".')
      if (patched.kind === 'role') throw policyError(patched.at, 'A key with this role may not change it.')
      if (patched.kind === 'wrong') throw settingsError(patched)
      forgetSnapshot(tenant.id)
      return Response.json(maskHeaders(patched.settings))
    },
  }),
  route({
    method: 'get',
    path: '/api/search',
    id: 'searchMessages',
    scope: 'read',
    tag: 'Search',
    summary: 'Full text over all sessions',
    description:
      '`a b` finds any of the words, best match first. `"a b"` and `a AND b` are demanded, `-a` is excluded, `abc*` is a prefix.',
    query: z.strictObject({
      q: z.string().trim().min(1).max(500).meta({ description: 'The words to look for.', example: 'report' }),
      limit: pageLimit(20).default(20),
      cursor: pageQuery.cursor,
      sort: z.enum(['newest', 'oldest']).optional().describe('Default: best match first.'),
      after: day.describe('From the beginning of this year, month or day on (UTC).'),
      before: day.describe('Before the beginning of this year, month or day (UTC).'),
      source: z.string().min(1).max(64).optional().describe('Only sessions that began there.'),
      session: z.string().min(1).max(128).optional().describe('Only this session.'),
      role: z.enum(['user', 'assistant', 'tool']).optional().describe('Only messages of this role.'),
      from: z.string().trim().min(1).max(80).optional().describe('Only messages of this person in a group.'),
    }),
    responses: ok(
      'The best message of each turn that matches',
      listOf(hitShape).extend({
        hint: z.string().optional().describe('Says that a date of the query does not exist.'),
      }),
    ),
    handle: async ({ env, authority, tenant, query }) => {
      const from = readPosition(query.cursor)
      const history = openHistory(env, tenant.id, createFindSimilar(env, authority, tenant.settings))
      const { hits, hasMore } = await history.searchPage(query.q, from + query.limit, query.sort, filterOf(query))
      const data = hits.slice(from).map(({ marks: _marks, ...hit }) => ({ ...hit, link: `@session:${hit.session_id}` }))
      const hint = findWrongDate(query.q)
      const next_cursor = renderNextPosition(from + data.length, hasMore && data.length > 0)
      return Response.json({ data, next_cursor, ...(hint && { hint }) })
    },
  }),
  route({
    method: 'get',
    path: '/api/questions',
    id: 'listQuestions',
    scope: 'read',
    tag: 'Questions',
    summary: 'Questions of the agent that wait for an answer',
    query: z.strictObject(pageQuery),
    responses: ok('Open questions', listOf(questionShape)),
    handle: async ({ env, authority, tenant, query }) => {
      const waiting = (await tenantStub(env, tenant.id).pending.list(authority)).filter(isQuestion)
      const page = pageByKey(waiting, query, ({ id }) => [0, id])
      const data = page.data.map(({ id, session_id, run_id, question, choices, multiSelect, elicitation }) => ({
        id,
        session_id,
        run_id,
        question,
        choices,
        multi_select: multiSelect,
        ...describeElicitation(elicitation),
      }))
      return Response.json({ ...page, data })
    },
  }),
  route({
    method: 'post',
    path: '/api/questions/:id',
    id: 'answerQuestion',
    params: { id: questionParam },
    scope: 'chat',
    tag: 'Questions',
    summary: 'Answer a question',
    example: { answer: 'main' },
    body: z.strictObject({
      answer: z
        .union([z.string().trim().min(1).max(100_000), z.array(z.string().trim().min(1).max(1_000)).min(1).max(100)])
        .optional()
        .describe('In words, or the chosen ones.'),
      action: z.enum(['accept', 'decline', 'cancel']).optional().describe('Instead of `answer`, to an MCP server.'),
      content: z.record(z.string(), z.unknown()).optional().describe('With `accept`: the fields of the form.'),
    }),
    responses: ok('Answered', z.object({ id: z.string(), status: z.literal('answered') })),
    handle: async ({ env, authority, tenant, param, body }) => {
      const [sessionId, request] = splitRequestId(param('id'))
      const answer = readAnswer(body)
      const answered = await addressSession(env, tenant.id, sessionId).pending.answer(authority, request, answer)
      if (answered === undefined) throw notFound()
      if (typeof answered === 'string') throw new AppError(400, 'invalid_request', answered, { param: 'content' })
      if (!answered) throw new AppError(409, 'conflict', 'This question has been answered, or the turn has ended.')
      return Response.json({ id: param('id'), status: 'answered' })
    },
  }),
]
