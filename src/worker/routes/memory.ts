/**
 * Serves `/api/memory`: what the agent keeps between sessions, where it comes from, its versions, forgetting, and writes
 * that wait for a person.
 */

import * as z from 'zod'
import { hasScope } from '#agent/core/permission/authority.ts'
import {
  type MemoryOperation,
  type MemoryProject,
  type MemoryResult,
  type MemoryTarget,
  memoryTargets,
  type MemoryView,
  type PendingMemory,
} from '#agent/core/recall/memory.ts'
import { forgetSnapshot } from '#durable/tenant/tenant-snapshot.ts'
import { type EntryOrigin, type Forgotten, memoryOf } from '#durable/tenant/memory/memory.ts'
import { fixesOf } from '#durable/tenant/fixes/fixes.ts'
import { redactorFor } from '#durable/platform/redaction.ts'
import { projectsOf } from '#durable/tenant/projects/project.ts'
import { tenantStub } from '#durable/platform/addresses.ts'
import { AppError, invalid } from '../errors.ts'
import { requireUnlimitedRole } from '../access.ts'
import { pageByKey, pageByPosition } from '../input/page.ts'
import { type RouteCall, route } from '../route.ts'
import { requireFound } from '../sessions.ts'
import { listOf, ok, pageQuery } from '../shapes.ts'
import { nameSchemas } from '../schema-names.ts'
import { memoryReach } from '#agent/memory/memory-reach.ts'
import { memoryVersionParam, pendingParam } from '../openapi/path-params.ts'

const tag = 'Memory'

const storeShape = z.object({
  entries: z.array(z.string()),
  chars: z.int().describe('The length of the entries with their separators.'),
  limit: z.int(),
})
const target = z
  .enum(memoryTargets)
  .describe('memory: of the tenant. user: the profile of the caller. project: of one project.')
const projectId = z.string().min(1).max(100).optional().describe('A project, for its store.')
const storeQuery = z.strictObject({ target, project: projectId })
const entry = z.string().trim().min(1).max(20_000)
const operationShape = z.discriminatedUnion('action', [
  z.strictObject({ action: z.literal('add'), content: entry }),
  z.strictObject({ action: z.literal('replace'), old_text: entry, content: entry }),
  z.strictObject({ action: z.literal('remove'), old_text: entry }),
])
const memoryShape = z.object({ memory: storeShape, user: storeShape, project: storeShape.optional() })
const pendingShape = z.object({
  id: z.string(),
  target,
  project: z.string().optional(),
  operations: z.array(operationShape),
  session_id: z.string().nullable(),
  created_at: z.iso.datetime(),
})
const originShape = {
  at: z.iso.datetime().nullable().describe('Null: stored before origins were.'),
  by: z.string().nullable().describe('The key or person for whom it was stored.'),
  session_id: z.string().nullable().describe('The session whose agent stored it. Null: a person did.'),
}
const entryShape = z.object({
  text: z.string(),
  ...originShape,
  foreign: z.boolean().describe('Somebody outside may have written it.'),
})
const versionShape = z.object({
  id: z.int(),
  target,
  project: z.string().optional(),
  ...originShape,
  entries: z.array(z.string()),
  added: z.array(z.string()),
  removed: z.array(z.string()),
})
const forgottenShape = z.object({
  forgotten: z.boolean().describe('False: a preview.'),
  entries: z.array(z.object({ target, project: z.string().optional(), text: z.string() })),
  hidden: z.int().describe('Entries of the profile of another person, which are not shown.'),
  earlier: z.int().describe('Texts of earlier versions and writes that wait, which go too.'),
  outside: z.string().nullable().describe('The memory service of memory.provider, which keeps what it has.'),
})
const fixShape = z.object({
  id: z.string(),
  tool: z.string(),
  error: z.string(),
  failed: z.string().describe('The call that failed.'),
  fix: z.string().describe('The calls that fixed it, one a line.'),
  uses: z.int(),
  tags: z.array(z.string()),
  foreign: z.boolean().describe('Its turn had read what others wrote, or it is older than this mark.'),
})
const fixQuery = z.strictObject({
  ...pageQuery,
  query: z.string().max(500).optional().describe('Words that a fix has, all of them.'),
  tag: z.string().max(40).optional().describe('One of its tags.'),
})
const fixText = z.string().trim().min(1).max(2_000)
const fixIds = z.array(z.string().max(20)).min(1).max(200)
const fixTags = z.array(z.string().trim().min(1).max(40)).max(10)
const learningBody = z.discriminatedUnion('action', [
  z.strictObject({
    action: z.literal('save'),
    error: fixText,
    fix: fixText,
    tool: z.string().trim().min(1).max(64).optional(),
    failed: fixText.optional(),
    tags: fixTags.optional(),
  }),
  z.strictObject({ action: z.literal('tag'), ids: fixIds, tags: fixTags }),
  z.strictObject({ action: z.literal('consolidate'), ids: fixIds.optional(), fix: fixText.optional() }),
  z.strictObject({ action: z.literal('delete'), ids: fixIds }),
])
nameSchemas({
  MemoryEntry: entryShape,
  MemoryVersion: versionShape,
  ForgottenMemory: forgottenShape,
  Memory: memoryShape,
  MemoryStore: storeShape,
  MemoryOperation: operationShape,
  PendingMemory: pendingShape,
})

const maxOperations = 50
const maxEntries = 1_000

type MemoryCall = Pick<RouteCall<unknown, unknown>, 'env' | 'tenant' | 'authority'>

const memoryFor = ({ env, tenant }: MemoryCall) => memoryOf(tenantStub(env, tenant.id))

/** A store that is switched off has no entries. */
const viewOf = (result: MemoryResult): MemoryView =>
  result.kind === 'unavailable' ? { entries: [], chars: 0, limit: 0 } : result.view

const originView = ({ at, by, sessionId }: EntryOrigin) => ({
  at: at === undefined || at === 0 ? null : new Date(at).toISOString(),
  by: by ?? null,
  session_id: sessionId ?? null,
})

async function renderMemory(call: MemoryCall, id?: string): Promise<Response> {
  const targets = id === undefined ? (['memory', 'user'] as const) : memoryTargets
  const read = (each: MemoryTarget) => memoryFor(call).read(call.authority, each, refTo(id))
  const [memory, user, project] = await Promise.all(targets.map(read))
  if (project?.kind === 'unavailable') requireDone(call, project)
  return Response.json({
    memory: memory && viewOf(memory),
    user: user && viewOf(user),
    ...(project && { project: viewOf(project) }),
  })
}

const refTo = (id: string | undefined): MemoryProject | undefined => (id === undefined ? undefined : { id })

/** For somebody who is no member, the project does not exist. */
async function requireProject(call: MemoryCall, isNeeded: boolean, id: string | undefined): Promise<void> {
  if (isNeeded && id === undefined) throw invalid('The target project needs project_id.', 'project_id')
  if (id !== undefined) requireFound(await projectsOf(call.env, call.tenant.id).find(call.authority, id))
}

function requireDone({ authority }: MemoryCall, result: MemoryResult, param = 'target'): void {
  if (result.kind === 'refused') throw invalid(result.error, param)
  if (result.kind !== 'unavailable') return
  if (!hasScope(authority, 'read')) throw new AppError(403, 'insufficient_scope', result.error, { param: 'read' })
  throw new AppError(409, 'conflict', result.error)
}

const toOperation = (given: z.infer<typeof operationShape>): MemoryOperation => {
  if (given.action === 'add') return given
  const { old_text: oldText } = given
  return given.action === 'remove'
    ? { action: 'remove', oldText }
    : { action: 'replace', oldText, content: given.content }
}

const fromOperation = (operation: MemoryOperation): z.infer<typeof operationShape> => {
  if (operation.action === 'add') return operation
  const { oldText: old_text } = operation
  return operation.action === 'remove'
    ? { action: 'remove', old_text }
    : { action: 'replace', old_text, content: operation.content }
}

const toPendingView = ({ id, target: of, owner, operations, sessionId, createdAt }: PendingMemory) => ({
  id,
  target: of,
  ...(of === 'project' && { project: owner }),
  operations: operations.map(fromOperation),
  session_id: sessionId ?? null,
  created_at: new Date(createdAt).toISOString(),
})

/** The profile is the person's own. */
function requireWriter({ authority }: MemoryCall, written: MemoryTarget): void {
  if (written !== 'user') requireUnlimitedRole(authority)
}

type GivenStores = Partial<Record<MemoryTarget, readonly string[] | undefined>> & {
  readonly project_id?: string | undefined
}

async function replaceStores(call: MemoryCall, { project_id: id, ...stores }: GivenStores) {
  await requireProject(call, stores.project !== undefined, id)
  for (const each of memoryTargets) if (stores[each]) requireWriter(call, each)
  for (const each of memoryTargets) {
    const entries = stores[each]
    if (entries) requireDone(call, await memoryFor(call).replaceAll(call.authority, each, entries, refTo(id)), each)
  }
  forgetSnapshot(call.tenant.id)
  return renderMemory(call, id)
}

const forgetBody = z
  .strictObject({
    words: z.string().trim().min(1).max(500).optional().describe('Entries with all of these words.'),
    session_id: z.string().min(1).max(200).optional().describe('Entries that the agent of this session stored.'),
    person: z
      .string()
      .min(1)
      .max(500)
      .optional()
      .describe('me, or the owner of a profile: the profile, and what was stored for that person.'),
    confirm: z.boolean().default(false),
  })
  .refine(
    ({ words, session_id, person }) => [words, session_id, person].filter((one) => one !== undefined).length === 1,
    { error: 'Give one of words, session_id and person.', path: ['words'] },
  )

/** Returns how many failures have changed or are gone, and the id of a new one. */
async function changeFixes(call: RouteCall<unknown, z.infer<typeof learningBody>>) {
  const { env, tenant, authority, body } = call
  const fixes = fixesOf(tenantStub(env, tenant.id))
  const redact = (text: string) => redactorFor(env, tenant.id).redact(text)
  switch (body.action) {
    case 'save': {
      const { createFix } = await import('#agent/skills/learning/fixes.ts')
      const id = await fixes.save(authority, createFix(body, redact), body.tags)
      return { id: id ?? null, changed: id === undefined ? 0 : 1 }
    }
    case 'tag':
      return { id: null, changed: await fixes.tag(authority, body.ids, body.tags) }
    case 'consolidate':
      return { id: null, changed: await fixes.merge(authority, body.ids, body.fix && redact(body.fix)) }
    case 'delete':
      return { id: null, changed: await fixes.remove(authority, body.ids) }
  }
}

async function forget(call: RouteCall<unknown, z.infer<typeof forgetBody>>): Promise<Response> {
  const { words, session_id: sessionId, person: given, confirm } = call.body
  const person = given === 'me' ? (memoryReach(call.authority)?.owner ?? 'me') : given
  const request = { words, sessionId, person, isPreview: !confirm }
  const done: Forgotten | undefined = await memoryFor(call).forget(call.authority, request)
  if (!done) throw new AppError(403, 'insufficient_scope', explainForget(call, person), { param: 'write' })
  forgetSnapshot(call.tenant.id)
  const { provider } = (await tenantStub(call.env, call.tenant.id).settings.get()).memory ?? {}
  return Response.json({ forgotten: confirm, ...done, outside: provider ?? null })
}

const explainForget = (call: MemoryCall, person: string | undefined): string =>
  person !== undefined && person !== memoryReach(call.authority)?.owner
    ? 'The profile of another person is forgotten by those who have the scopes read, write and approve, without limits of a role.'
    : 'This key reaches no memory that it may change: it takes the scopes read and write.'

export const memoryRoutes = [
  route({
    method: 'get',
    path: '/api/learning',
    id: 'listFixes',
    scope: 'read',
    tag,
    summary: 'Failures of tools, and the calls that fixed them',
    query: fixQuery,
    responses: ok('Those seen last first', listOf(fixShape)),
    handle: async (call) => {
      const { query, tag: wanted } = call.query
      const fixes = fixesOf(tenantStub(call.env, call.tenant.id))
      const found = await fixes.list(call.authority, query, wanted === undefined ? [] : [wanted])
      const page = pageByPosition(found, call.query)
      return Response.json({
        ...page,
        data: page.data.map(({ signature: _signature, isForeign, ...fix }) => ({ ...fix, foreign: isForeign })),
      })
    },
  }),
  route({
    method: 'post',
    path: '/api/learning',
    id: 'updateFixes',
    scope: 'write',
    isTenantWide: true,
    tag,
    summary: 'Save, tag, consolidate and delete failures and their fixes',
    body: learningBody,
    example: {
      action: 'save',
      tool: 'terminal',
      failed: 'make',
      error: 'make: command not found',
      fix: 'npm run build',
    },
    responses: ok('How many have changed or are gone', z.object({ id: z.string().nullable(), changed: z.int() })),
    handle: async (call) => Response.json(await changeFixes(call)),
  }),
  route({
    method: 'get',
    path: '/api/memory',
    id: 'getMemory',
    scope: 'read',
    tag,
    summary: "The memory of the tenant and the caller's profile",
    query: z.strictObject({ project: projectId }),
    responses: ok('The stores', memoryShape),
    handle: async (call) => {
      await requireProject(call, false, call.query.project)
      return renderMemory(call, call.query.project)
    },
  }),
  route({
    method: 'put',
    path: '/api/memory',
    id: 'replaceMemory',
    scope: 'write',
    tag,
    summary: 'Replace all entries of one store or both; new sessions get them',
    body: z.strictObject({
      memory: z.array(entry).max(maxEntries).optional(),
      user: z.array(entry).max(maxEntries).optional(),
      project: z.array(entry).max(maxEntries).optional(),
      project_id: projectId,
    }),
    responses: ok('The stores', memoryShape),
    handle: (call) => replaceStores(call, call.body),
  }),
  route({
    method: 'patch',
    path: '/api/memory',
    id: 'updateMemory',
    scope: 'write',
    tag,
    summary: 'Add, replace and remove entries of one store; all operations apply, or none',
    example: { target: 'memory', operations: [{ action: 'add', content: 'The staging server is in Frankfurt.' }] },
    body: z.strictObject({
      target,
      project_id: projectId,
      operations: z.array(operationShape).min(1).max(maxOperations),
    }),
    responses: ok('The stores', memoryShape),
    handle: async (call) => {
      const { target: of, project_id: id, operations } = call.body
      await requireProject(call, of === 'project', id)
      requireWriter(call, of)
      const change = { target: of, project: refTo(id), operations: operations.map(toOperation) }
      requireDone(call, await memoryFor(call).changeNow(call.authority, change), 'operations')
      forgetSnapshot(call.tenant.id)
      return renderMemory(call, id)
    },
  }),
  route({
    method: 'get',
    path: '/api/memory/entries',
    id: 'listMemoryEntries',
    scope: 'read',
    tag,
    summary: 'The entries of a store with where they come from',
    query: storeQuery,
    responses: ok('Entries', z.object({ data: z.array(entryShape) })),
    handle: async (call) => {
      const { target: of, project } = call.query
      await requireProject(call, of === 'project', project)
      const entries = (await memoryFor(call).entries(call.authority, of, refTo(project))) ?? []
      const data = entries.map(({ text, isForeign, ...origin }) => ({
        text,
        ...originView(origin),
        foreign: isForeign === true,
      }))
      return Response.json({ data })
    },
  }),
  route({
    method: 'get',
    path: '/api/memory/versions',
    id: 'listMemoryVersions',
    scope: 'read',
    tag,
    summary: 'The last 50 versions of a store, newest first',
    query: storeQuery,
    responses: ok('Versions', z.object({ data: z.array(versionShape) })),
    handle: async (call) => {
      const { target: of, project } = call.query
      await requireProject(call, of === 'project', project)
      const versions = await memoryFor(call).versions(call.authority, of, refTo(project))
      return Response.json({
        data: versions.map(({ sessionId, at, by, ...fields }) => ({ ...fields, ...originView({ at, by, sessionId }) })),
      })
    },
  }),
  route({
    method: 'post',
    path: '/api/memory/versions/:id/restore',
    id: 'restoreMemoryVersion',
    params: { id: memoryVersionParam },
    scope: 'write',
    tag,
    summary: 'Make an earlier version of a store the newest one',
    responses: ok('The stores', memoryShape),
    handle: async (call) => {
      const id = Number(call.param('id'))
      const found = (await memoryFor(call).versions(call.authority, 'memory')).some((one) => one.id === id)
      if (found) requireWriter(call, 'memory')
      requireDone(call, requireFound(await memoryFor(call).restore(call.authority, id)), 'id')
      forgetSnapshot(call.tenant.id)
      return renderMemory(call)
    },
  }),
  route({
    method: 'post',
    path: '/api/memory/forget',
    id: 'forgetMemory',
    scope: 'write',
    tag,
    summary: 'Forget entries by words, session or person, in every version; a preview unless confirm is true',
    body: forgetBody,
    example: { words: 'Ann Graz' },
    responses: ok('What is forgotten, or would be', forgottenShape),
    handle: forget,
  }),
  route({
    method: 'get',
    path: '/api/memory/pending',
    id: 'listPendingMemory',
    scope: 'read',
    tag,
    summary: 'Writes of the agent that wait for a person (memory.write_approval)',
    query: z.strictObject(pageQuery),
    responses: ok('Writes, newest first', listOf(pendingShape)),
    handle: async (call) => {
      const pending = await memoryFor(call).pending(call.authority)
      const page = pageByKey([...pending], call.query, ({ createdAt, id }) => [createdAt, id])
      return Response.json({ ...page, data: page.data.map(toPendingView) })
    },
  }),
  route({
    method: 'post',
    path: '/api/memory/pending/:id',
    id: 'decidePendingMemory',
    params: { id: pendingParam },
    scope: 'write',
    tag,
    summary: 'Approve or reject a write of the agent',
    body: z.strictObject({ decision: z.enum(['approve', 'reject']) }),
    responses: ok('The stores', memoryShape),
    handle: async (call) => {
      if (call.body.decision === 'approve') requireUnlimitedRole(call.authority)
      const decided = await memoryFor(call).decide(call.authority, call.param('id'), call.body.decision)
      requireDone(call, requireFound(decided), 'id')
      forgetSnapshot(call.tenant.id)
      return renderMemory(call)
    },
  }),
]
