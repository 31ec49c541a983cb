/** Serves `/api/memory`: what the agent keeps between sessions, and its writes that wait for a person. */

import * as z from 'zod'
import { hasScope } from '#agent/core/permission/authority.ts'
import {
  type MemoryOperation,
  type MemoryResult,
  type MemoryTarget,
  memoryTargets,
  type MemoryView,
  type PendingMemory,
} from '#agent/core/recall/memory.ts'
import { forgetSnapshot } from '#durable/tenant/tenant-snapshot.ts'
import { tenantStub } from '#durable/platform/addresses.ts'
import { AppError, invalid } from '../errors.ts'
import { requireUnlimitedRole } from '../access.ts'
import { pageByKey } from '../input/page.ts'
import { type RouteCall, route } from '../route.ts'
import { requireFound } from '../sessions.ts'
import { listOf, ok, pageQuery } from '../shapes.ts'
import { nameSchemas } from '../schema-names.ts'
import { pendingParam } from '../openapi/path-params.ts'

const tag = 'Memory'

const storeShape = z.object({
  entries: z.array(z.string()),
  chars: z.int().describe('The length of the entries with their separators.'),
  limit: z.int(),
})
const target = z.enum(memoryTargets).describe('memory: of the tenant. user: the profile of the caller.')
const entry = z.string().trim().min(1).max(20_000)
const operationShape = z.discriminatedUnion('action', [
  z.strictObject({ action: z.literal('add'), content: entry }),
  z.strictObject({ action: z.literal('replace'), old_text: entry, content: entry }),
  z.strictObject({ action: z.literal('remove'), old_text: entry }),
])
const memoryShape = z.object({ memory: storeShape, user: storeShape })
const pendingShape = z.object({
  id: z.string(),
  target,
  operations: z.array(operationShape),
  session_id: z.string().nullable(),
  created_at: z.iso.datetime(),
})
nameSchemas({
  Memory: memoryShape,
  MemoryStore: storeShape,
  MemoryOperation: operationShape,
  PendingMemory: pendingShape,
})

const maxOperations = 50
const maxEntries = 1_000

type MemoryCall = Pick<RouteCall<unknown, unknown>, 'env' | 'tenant' | 'authority'>

const memoryOf = ({ env, tenant }: MemoryCall) => tenantStub(env, tenant.id).memory

/** A store that is switched off has no entries. */
const viewOf = (result: MemoryResult): MemoryView =>
  result.kind === 'unavailable' ? { entries: [], chars: 0, limit: 0 } : result.view

async function renderMemory(call: MemoryCall): Promise<Response> {
  const [memory, user] = await Promise.all(memoryTargets.map((each) => memoryOf(call).read(call.authority, each)))
  return Response.json({ memory: memory && viewOf(memory), user: user && viewOf(user) })
}

function requireDone({ authority }: MemoryCall, result: MemoryResult, param: string): void {
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

const toPendingView = ({ id, target: of, operations, sessionId, createdAt }: PendingMemory) => ({
  id,
  target: of,
  operations: operations.map(fromOperation),
  session_id: sessionId ?? null,
  created_at: new Date(createdAt).toISOString(),
})

/** The profile is the person's own. */
function requireWriter({ authority }: MemoryCall, written: MemoryTarget): void {
  if (written === 'memory') requireUnlimitedRole(authority)
}

async function replaceStores(call: MemoryCall, stores: Partial<Record<MemoryTarget, readonly string[] | undefined>>) {
  for (const each of memoryTargets) if (stores[each]) requireWriter(call, each)
  for (const each of memoryTargets) {
    const entries = stores[each]
    if (entries) requireDone(call, await memoryOf(call).replaceAll(call.authority, each, entries), each)
  }
  forgetSnapshot(call.tenant.id)
  return renderMemory(call)
}

export const memoryRoutes = [
  route({
    method: 'get',
    path: '/api/memory',
    id: 'getMemory',
    scope: 'read',
    tag,
    summary: "The memory of the tenant and the caller's profile",
    responses: ok('Both stores', memoryShape),
    handle: renderMemory,
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
    }),
    responses: ok('Both stores', memoryShape),
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
    body: z.strictObject({ target, operations: z.array(operationShape).min(1).max(maxOperations) }),
    responses: ok('Both stores', memoryShape),
    handle: async (call) => {
      requireWriter(call, call.body.target)
      const change = { target: call.body.target, operations: call.body.operations.map(toOperation) }
      requireDone(call, await memoryOf(call).changeNow(call.authority, change), 'operations')
      forgetSnapshot(call.tenant.id)
      return renderMemory(call)
    },
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
      const pending = await memoryOf(call).pending(call.authority)
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
    responses: ok('Both stores', memoryShape),
    handle: async (call) => {
      if (call.body.decision === 'approve') requireUnlimitedRole(call.authority)
      const decided = await memoryOf(call).decide(call.authority, call.param('id'), call.body.decision)
      requireDone(call, requireFound(decided), 'id')
      forgetSnapshot(call.tenant.id)
      return renderMemory(call)
    },
  }),
]
