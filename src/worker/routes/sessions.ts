/** `/api/sessions`: the directory, and each session as an object: create, read, change, delete, fork, undo. */

import * as z from 'zod'
import { temporarySource } from '#agent/memory/session-source.ts'
import { modelId } from '#agent/core/request/turn-settings.ts'
import { type Settings, settingsSchema } from '#agent/core/settings.ts'
import { sessionView } from '#durable/session/views/api-views.ts'
import { decodeCursor } from '#db/session-directory.ts'
import { openHistory } from '#db/history.ts'
import type { TenantSnapshot } from '#durable/tenant/tenant-snapshot.ts'
import { projectsOf } from '#durable/tenant/projects/project.ts'
import { AppError, invalid, invalidCursor } from '../errors.ts'
import { forkSession } from '../fork.ts'
import { idempotencyKeyHeader } from '../headers.ts'
import { claimIds, releaseOnError, replayHeaders } from '../idempotency.ts'
import { requireAdmission } from '../limits.ts'
import { route, type RouteCall } from '../route.ts'
import { requireFound, addressSession, getStatuses } from '../sessions.ts'
import { created, listOf, ok, pageQuery, sessionShape } from '../shapes.ts'
import { sealHeaders } from '../secrets/seal-headers.ts'
import { requireKnownSettings } from '../input/known-settings.ts'
import { requirePromptSettings } from '../input/prompt-settings.ts'
import { resolveRequestedModel, mergeSessionSettings } from '../input/requested-model.ts'
import { validateAddresses } from '../input/addresses.ts'
import {
  requireTighter,
  validatePatch,
  readWithSessionSettings,
  settingsError,
  withModel,
} from '../input/settings-patch.ts'
import { clientSources } from '#agent/core/client-source.ts'
import { sessionParam } from '../openapi/path-params.ts'
import { tagsSchema } from '../input/tags.ts'

const title = z.string().trim().min(1).max(100)
const projectName = z.string().min(1).max(100)
const newSession = z.strictObject({
  title: title.nullish(),
  tags: tagsSchema.optional(),
  project_id: projectName.optional().describe('A project of which the key is a member. Its model is the default.'),
  model: modelId.nullish(),
  settings: settingsSchema.optional(),
  source: z
    .enum(clientSources)
    .default('api')
    .describe('The client that creates it. It decides how answers are formatted.'),
  temporary: z
    .boolean()
    .optional()
    .describe('In no list and no search; the agent keeps nothing of it. It is deleted after a day without a message.'),
})
const change = z.strictObject({
  title: title.nullable().optional(),
  model: modelId.nullable().optional(),
  settings: z.looseObject({}).optional().describe('Any part of the settings; null removes one.'),
  prompt: z
    .literal('now')
    .optional()
    .describe('Builds the system prompt again, with the memory, skills, files and settings of now.'),
  pinned: z.boolean().optional(),
  archived: z.boolean().optional(),
  tags: tagsSchema.optional().describe('Replaces the tags.'),
  project_id: projectName
    .nullable()
    .optional()
    .describe('Moves it into this project, or out of its project with null. Its prompt is built again.'),
})

const listQuery = z.strictObject({
  ...pageQuery,
  source: z
    .string()
    .max(64)
    .optional()
    .meta({ description: 'Only sessions that began there; with `!` all others.', example: 'api' }),
  q: z.string().max(200).optional().meta({ description: 'Words of the title.', example: 'report' }),
  pinned: z.enum(['true', 'false']).optional().describe('Default: both.'),
  tag: z.string().max(200).optional().meta({ description: 'Only sessions with this tag.', example: 'report' }),
  project: projectName
    .optional()
    .meta({ description: 'Only sessions of this project.', example: 'proj_1f2e3d4c5b6a7988' }),
  tool: z
    .string()
    .max(200)
    .optional()
    .meta({ description: 'Only sessions in which this tool was called.', example: 'web_search' }),
  archived: z.enum(['true', 'false', 'all']).default('false').describe('Archived sessions, others, or all.'),
})

/** The filter of the directory for the query of a list. */
function createFilter({ source, pinned, archived, ...page }: z.infer<typeof listQuery>) {
  return {
    ...page,
    isForPeople: true,
    ...(source?.startsWith('!') ? { notSource: source.slice(1) } : { source }),
    ...(pinned && { pinned: pinned === 'true' }),
    ...(archived !== 'all' && { archived: archived === 'true' }),
  }
}

const compressedShape = z.object({
  compressed: z.boolean(),
  tokens_before: z.int().optional(),
  tokens_after: z.int().optional(),
  reason: z.string().optional().describe('Why the summary could not be requested. Nothing was removed.'),
})

/** Refuses a project of which the key is no member as one that does not exist. */
async function requireProject({ env, tenant, authority }: RouteCall<unknown, unknown>, id: string) {
  const project = await projectsOf(env, tenant.id).find(authority, id)
  if (!project) throw invalid('There is no such project.', 'project_id')
  return project
}

/** The fields of a new session that follow from its project. */
async function resolveProject(
  call: RouteCall<unknown, unknown>,
  { project_id: id, temporary: isTemporary, model }: z.infer<typeof newSession>,
) {
  if (id === undefined) return {}
  if (isTemporary) throw invalid('A temporary chat belongs to no project.', 'project_id')
  const project = await requireProject(call, id)
  return { projectId: id, model: model ?? project.model }
}

/** A field that JSON leaves out is absent, never undefined. */
type Present<T> = { [Field in keyof T]?: Exclude<T[Field], undefined> }

/** The tools that keep something of a conversation after its end. */
const keepingTools = ['memory', 'learning', 'skill_manage', 'cronjob'] as const

const forgetful = (settings: Settings = {}, { toolsets }: Settings): Settings => ({
  ...settings,
  toolsets: {
    ...settings.toolsets,
    disabled: [...new Set([...(toolsets?.disabled ?? []), ...(settings.toolsets?.disabled ?? []), ...keepingTools])],
  },
})

const tag = 'Sessions'
export const busyError = () =>
  new AppError(409, 'conflict', 'A turn is running in this session. Stop it first, or wait.')

export const sessionRoutes = [
  route({
    method: 'get',
    path: '/api/sessions',
    id: 'listSessions',
    scope: 'read',
    tag,
    summary: 'Sessions, newest first; archived ones and subagents only when asked for',
    query: listQuery,
    responses: ok('A page of sessions', listOf(sessionShape)),
    handle: async ({ env, authority, tenant, query }) => {
      if (query.cursor !== undefined && !decodeCursor(query.cursor)) throw invalidCursor()
      const { data, nextCursor } = await openHistory(env, tenant.id).listSessions(createFilter(query))
      const statuses = await getStatuses({ env, authority }, data)
      return Response.json({
        data: data.map((record) => sessionView(record, statuses.get(record.id) ?? 'idle')),
        next_cursor: nextCursor,
      })
    },
  }),
  route({
    method: 'post',
    path: '/api/sessions',
    id: 'createSession',
    scope: 'chat',
    tag,
    summary: 'Create a session',
    description: 'A session is a conversation with a workspace of files. It keeps its id for ever.',
    example: { title: 'Quarterly report' },
    headers: [idempotencyKeyHeader],
    body: newSession,
    responses: created('The session', sessionShape),
    handle: async (call) => {
      const { env, authority, tenant, body } = call
      if (body.settings) {
        validateAddresses(body.settings)
        requireKnownSettings(body.settings, 'session')
        requirePromptSettings(body.settings, tenant.settings)
        requireTighter(call, body.settings)
        const { requireKnownModels } = await import('../input/known-models.ts')
        requireKnownModels(body.settings, env, tenant)
      }
      const { temporary: isTemporary = false, project_id: _project, ...given } = body
      const spec = { ...given, ...(await resolveProject(call, body)) }
      resolveRequestedModel(spec.model ?? undefined, env, mergeSessionSettings(tenant, body.settings))
      const settings = isTemporary ? forgetful(body.settings, tenant.settings) : body.settings
      const ids = await claimIds(call)
      const view = await addressSession(env, tenant.id, ids.sessionId).info.create(
        authority,
        {
          ...spec,
          ...(isTemporary && { source: temporarySource }),
          ...(settings && { settings: await sealHeaders(env, tenant.id, settings) }),
        },
        tenant,
      )
      return Response.json(requireFound(view), { status: 201, headers: replayHeaders(ids) })
    },
  }),
  route({
    method: 'get',
    path: '/api/sessions/:id',
    id: 'getSession',
    params: { id: sessionParam },
    scope: 'read',
    tag,
    summary: 'One session, with what runs and waits in it',
    responses: ok('The session', sessionShape),
    handle: async ({ env, authority, tenant, param }) =>
      Response.json(requireFound(await addressSession(env, tenant.id, param('id')).info.detail(authority))),
  }),
  route({
    method: 'patch',
    path: '/api/sessions/:id',
    id: 'updateSession',
    params: { id: sessionParam },
    scope: 'write',
    tag,
    summary: 'Change title, model, tags, project or settings, pin, archive, or build the prompt again',
    example: { title: 'Quarterly report' },
    body: change,
    responses: ok('The session', sessionShape),
    handle: async (call) => {
      const { env, authority, tenant, param, body } = call
      const { model, settings, project_id: projectId, ...others } = body
      if (typeof projectId === 'string') await requireProject(call, projectId)
      if (settings) {
        validatePatch(settings)
        requireKnownSettings(settings as Settings, 'session')
        requireTighter({ authority, tenant }, settings)
      }
      const session = addressSession(env, tenant.id, param('id'))
      const reader = { authority, tenant }
      if (settings) {
        const { requireKnownModels } = await import('../input/known-models.ts')
        const requireKnown = (known: TenantSnapshot) => {
          requirePromptSettings(settings as Settings, known.settings)
          requireKnownModels(settings, env, known)
        }
        await readWithSessionSettings(session, reader, requireKnown)
      }
      if (model !== undefined) {
        const read = (snapshot: TenantSnapshot) => resolveRequestedModel(model ?? undefined, env, snapshot)
        await readWithSessionSettings(session, reader, read, withModel(settings, model))
      }
      const stored = (settings as Settings | undefined)?.providers && (await session.info.get(authority))
      const updated = requireFound(
        await session.info.update(authority, {
          ...(others as Present<typeof others>),
          ...(model !== undefined && { model }),
          ...(projectId !== undefined && { projectId }),
          ...(settings && { settings: await sealHeaders(env, tenant.id, settings, stored?.settings) }),
        }),
      )
      if (updated.kind === 'wrong') throw settingsError(updated)
      return Response.json(updated.view)
    },
  }),
  route({
    method: 'delete',
    path: '/api/sessions/:id',
    id: 'deleteSession',
    params: { id: sessionParam },
    scope: 'write',
    tag,
    summary: 'Delete a session and everything that belongs to it',
    responses: { 204: { description: 'Deleted' } },
    handle: async ({ env, authority, tenant, param }) => {
      requireFound((await addressSession(env, tenant.id, param('id')).info.delete(authority, true)) || undefined)
      return new Response(null, { status: 204 })
    },
  }),
  route({
    method: 'post',
    path: '/api/sessions/:id/fork',
    id: 'forkSession',
    params: { id: sessionParam },
    scope: 'chat',
    tag,
    summary: 'Copy the session, files included, into a new one; all of it, or through a run',
    example: { title: 'Another way' },
    headers: [idempotencyKeyHeader],
    body: z.strictObject({
      title: title.optional(),
      through: z
        .string()
        .min(1)
        .max(300)
        .optional()
        .describe('The last run to copy. The files are those at its end, as far as checkpoints reach back.'),
    }),
    responses: created('The new session', sessionShape),
    handle: async (call) => {
      const { env, authority, tenant, param, body } = call
      const source = addressSession(env, tenant.id, param('id'))
      const ids = await claimIds(call)
      const target = addressSession(env, tenant.id, ids.sessionId)
      const upTo = body.through !== undefined && { upTo: body.through, withEarlierFiles: true }
      const fork = { spec: { title: body.title, parentId: param('id') }, ...upTo }
      const forked = () => forkSession(call, source, target, fork)
      // For a repeated request the original may be deleted already.
      const view = (ids.replayed && (await target.info.get(authority))) || (await releaseOnError(ids, forked))
      return Response.json(view, { status: 201, headers: replayHeaders(ids) })
    },
  }),
  route({
    method: 'post',
    path: '/api/sessions/:id/undo',
    id: 'undoTurns',
    params: { id: sessionParam },
    scope: 'write',
    tag,
    summary: 'Undo the last turns',
    example: { n: 1 },
    body: z
      .strictObject({
        n: z.int().min(1).max(1_000).optional().describe('The number of turns. Default: 1.'),
        run_id: z.string().min(1).max(100).optional().describe('Instead of `n`: this run and all behind it.'),
        replaced: z
          .boolean()
          .default(false)
          .describe('Another message follows: the turns stay reachable as a version.'),
      })
      .refine(({ n, run_id: run }) => n === undefined || run === undefined, {
        path: ['run_id'],
        message: 'Give `n` or `run_id`.',
      }),
    responses: ok('The removed user messages', z.object({ undone: z.int(), messages: z.array(z.string()) })),
    handle: async ({ env, authority, tenant, param, body }) => {
      const result = requireFound(
        await addressSession(env, tenant.id, param('id')).history.undo(
          authority,
          body.run_id ?? body.n ?? 1,
          body.replaced,
        ),
      )
      if (!result) throw busyError()
      return Response.json({ undone: result.turns.length, messages: result.turns.map(({ text }) => text) })
    },
  }),
  route({
    method: 'post',
    path: '/api/sessions/:id/compress',
    id: 'compressSession',
    params: { id: sessionParam },
    scope: 'chat',
    tag,
    summary: 'Shorten the context now; while a turn runs, before its next model call',
    example: { focus: 'the findings of the report' },
    body: z.strictObject({
      focus: z.string().trim().min(1).max(2_000).optional().describe('What the summary must keep.'),
    }),
    responses: {
      ...ok('Shortened, or there was nothing to shorten', compressedShape),
      202: {
        description: 'The turn that runs will do it',
        schema: z.object({ session_id: z.string(), status: z.literal('requested') }),
      },
    },
    handle: async ({ env, authority, tenant, param, body }) => {
      const result = requireFound(
        await addressSession(env, tenant.id, param('id')).history.compress(authority, body.focus),
      )
      if (result.kind === 'busy') throw busyError()
      if (result.kind === 'limit-reached') requireAdmission({ ok: false, limit: result.limit, retryAfter: 3_600 })
      if (result.kind === 'requested')
        return Response.json({ session_id: param('id'), status: 'requested' }, { status: 202 })
      const tokens = result.kind === 'done' && { tokens_before: result.before, tokens_after: result.after }
      const reason = result.kind === 'failed' && { reason: result.reason }
      return Response.json({ compressed: result.kind === 'done', ...tokens, ...reason })
    },
  }),
]
