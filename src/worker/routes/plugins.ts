/** Serves `/api/plugins`: code of the tenant that adds tools and hooks, and which version of it a person has approved. */

import * as z from 'zod'
import { decidingHooks, observers } from '#agent/core/hook.ts'
import { secretName } from '#agent/core/secrets/secret-name.ts'
import { pluginName, pluginToolName } from '#agent/plugins/plugin.ts'
import { pluginsOf, statusOf, type StoredPlugin } from '#durable/tenant/plugins/plugin-row.ts'
import { forgetSnapshot } from '#durable/tenant/tenant-snapshot.ts'
import { AppError, invalid, notFound } from '../errors.ts'
import { type RouteCall, route } from '../route.ts'
import { nameSchemas } from '../schema-names.ts'
import { requireFound } from '../sessions.ts'
import { created, listOf, ok } from '../shapes.ts'

const tag = 'Plugins'
const params = { name: { description: 'The name of the plugin.', example: 'weather' } }
const host = z
  .string()
  .max(253)
  .regex(/^[a-z0-9.-]+(?::\d{1,5})?$/)
const secretGrant = z.strictObject({
  name: secretName,
  host,
  header: z.string().regex(/^[A-Za-z0-9-]{1,64}$/),
  prefix: z.string().max(100).optional(),
})
const grantsShape = z
  .strictObject({
    fetch: z.array(host).max(20).describe('Hosts that the code may call by https.'),
    secrets: z.array(secretGrant).max(20).describe('Secrets that are added to requests. The code never sees them.'),
    kv: z.boolean().describe('A store of its own.'),
    llm: z.strictObject({ usd_per_day: z.number().positive().max(1_000) }).describe('Model calls.'),
  })
  .partial()
const code = z.string().min(1).max(300_000).describe('One ES module without imports, at most 256 KiB.')
const time = z.iso.datetime()
const rowShape = z.object({
  name: z.string(),
  status: z.enum(['pending', 'active', 'paused', 'failed']),
  reason: z.string().nullable(),
  hash: z.string().describe('Of code and grants.'),
  approved_hash: z.string().nullable().describe('Of the approved version. null: none.'),
  runs: z.boolean().describe('The approved version runs: it is neither paused nor failed.'),
  grants: grantsShape,
  tools: z.array(
    z.object({
      name: z.string().describe("The model's name."),
      tool: z.string(),
      description: z.string(),
      input_schema: z.looseObject({}),
      read_only: z.boolean(),
    }),
  ),
  hooks: z.partialRecord(
    z.enum([...decidingHooks, ...observers]),
    z.object({ matcher: z.string(), required: z.boolean() }),
  ),
  created_at: time,
  updated_at: time,
})
const detailShape = rowShape.extend({
  code: z.string(),
  logs: z.array(z.object({ at: time, level: z.enum(['info', 'error']), text: z.string() })).describe('Newest last.'),
})
nameSchemas({ Plugin: rowShape, PluginDetail: detailShape })

type Call = RouteCall<unknown, unknown>

const isoOf = (at: number): string => new Date(at).toISOString()

function renderRow(plugin: StoredPlugin) {
  const { name, newest, approved, state, createdAt, updatedAt } = plugin
  const status = statusOf(plugin)
  const runs = approved !== undefined && state.stopped === undefined
  const waits = runs
    ? 'The new code or grants wait for approval. The version before runs on.'
    : 'Code and grants wait for approval.'
  return {
    name,
    status,
    reason: status === 'pending' ? waits : (state.reason ?? null),
    hash: newest.hash,
    approved_hash: approved?.hash ?? null,
    runs,
    grants: newest.grants,
    tools: newest.manifest.tools.map(({ name: tool, description, input_schema, read_only }) => ({
      name: pluginToolName(name, tool),
      tool,
      description,
      input_schema,
      read_only: read_only ?? false,
    })),
    hooks: newest.manifest.hooks,
    created_at: isoOf(createdAt),
    updated_at: isoOf(updatedAt),
  }
}

const partOf = ({ env, tenant }: Call) => pluginsOf(env, tenant.id)

const findPlugin = async (call: Call, name = call.param('name')) =>
  requireFound(await partOf(call).find(call.authority, name))

async function renderDetail(call: Call, name = call.param('name')) {
  const plugin = await findPlugin(call, name)
  const logs = await partOf(call).logs(call.authority, name)
  return {
    ...renderRow(plugin),
    code: plugin.newest.code,
    logs: logs.map(({ at, level, text }) => ({ at: isoOf(at), level, text })),
  }
}

type Grants = z.infer<typeof grantsShape>

async function check(call: Call, source: { readonly code: string; readonly grants: Grants }) {
  const { env, tenant } = call
  if (!env.LOADER)
    throw new AppError(501, 'not_configured', 'Plugins run in isolates: the deployment needs the binding LOADER.')
  const { checkPlugin } = await import('#durable/tenant/plugins/check-plugin.ts')
  const checked = await checkPlugin(env.LOADER, tenant.id, source)
  if ('reason' in checked) throw invalid(checked.reason, checked.param)
  return checked.version
}

async function create(call: Call, name: string, source: { readonly code: string; readonly grants: Grants }) {
  const version = await check(call, source)
  const outcome = await partOf(call).create(call.authority, name, version)
  if (outcome === 'foreign') throw notFound()
  if (outcome === 'conflict')
    throw new AppError(409, 'conflict', `There is already a plugin named ${name}.`, { param: 'name' })
  if (outcome === 'full') throw new AppError(409, 'conflict', 'There are already 50 plugins. Delete one first.')
  forgetSnapshot(call.tenant.id)
  return Response.json(await renderDetail(call, name), { status: 201 })
}

async function setPaused(call: Call, isPaused: boolean): Promise<Response> {
  requireAllowed(await partOf(call).setPaused(call.authority, call.param('name'), isPaused))
  forgetSnapshot(call.tenant.id)
  return Response.json(await renderDetail(call))
}

function requireAllowed(outcome: 'stored' | 'unknown' | 'foreign' | 'guard'): void {
  if (outcome === 'unknown' || outcome === 'foreign') throw notFound()
  if (outcome === 'guard')
    throw new AppError(
      403,
      'insufficient_scope',
      'The plugin guards calls: to pause or delete it needs the scope approve.',
      {
        param: 'approve',
      },
    )
}

export const pluginRoutes = [
  route({
    method: 'get',
    path: '/api/plugins',
    id: 'listPlugins',
    scope: 'read',
    tag,
    summary: 'Plugins and their state',
    responses: ok('Plugins, by name', listOf(rowShape)),
    handle: async (call) => {
      const plugins = await partOf(call).list(call.authority)
      return Response.json({ data: plugins.map(renderRow), next_cursor: null })
    },
  }),
  route({
    method: 'post',
    path: '/api/plugins',
    id: 'createPlugin',
    scope: 'write',
    isTenantWide: true,
    tag,
    summary: 'Add a plugin; nothing of it runs until it is approved',
    example: {
      name: 'guard',
      code: "export const hooks = { pre_tool_call: { matcher: 'terminal', required: true, run: () => ({ action: 'approve' }) } }",
    },
    body: z.strictObject({ name: z.string().regex(pluginName), code, grants: grantsShape.optional() }),
    errors: ['Conflict'],
    responses: created('The plugin', detailShape),
    handle: (call) => create(call, call.body.name, { code: call.body.code, grants: call.body.grants ?? {} }),
  }),
  route({
    method: 'get',
    path: '/api/plugins/:name',
    params,
    id: 'getPlugin',
    scope: 'read',
    tag,
    summary: 'A plugin with its code and logs',
    responses: ok('The plugin', detailShape),
    handle: async (call) => Response.json(await renderDetail(call)),
  }),
  route({
    method: 'patch',
    path: '/api/plugins/:name',
    params,
    id: 'updatePlugin',
    scope: 'write',
    isTenantWide: true,
    tag,
    summary: 'Change code or grants, which wait for approval; the approved version runs on',
    example: { grants: { kv: true } },
    body: z.strictObject({ code: code.optional(), grants: grantsShape.optional() }),
    responses: ok('The plugin', detailShape),
    handle: async (call) => {
      const { newest } = await findPlugin(call)
      const source = { code: call.body.code ?? newest.code, grants: call.body.grants ?? (newest.grants as Grants) }
      const version = await check(call, source)
      requireAllowed(await partOf(call).update(call.authority, call.param('name'), version))
      forgetSnapshot(call.tenant.id)
      return Response.json(await renderDetail(call))
    },
  }),
  route({
    method: 'delete',
    path: '/api/plugins/:name',
    params,
    id: 'deletePlugin',
    scope: 'write',
    isTenantWide: true,
    tag,
    summary: 'Delete a plugin and what it has stored',
    responses: { 204: { description: 'Deleted' } },
    handle: async (call) => {
      requireAllowed(await partOf(call).remove(call.authority, call.param('name')))
      forgetSnapshot(call.tenant.id)
      return new Response(null, { status: 204 })
    },
  }),
  route({
    method: 'post',
    path: '/api/plugins/:name/approve',
    params,
    id: 'approvePlugin',
    scope: 'approve',
    isTenantWide: true,
    tag,
    summary: 'Approve the code and the grants with this hash, which run from then on',
    example: { hash: '0f8d6c7b2a9e4d31b5c0a7e9d2f4b681' },
    body: z.strictObject({ hash: z.string().max(64) }),
    errors: ['Conflict'],
    responses: ok('The plugin', detailShape),
    handle: async (call) => {
      const outcome = await partOf(call).approve(call.authority, call.param('name'), call.body.hash)
      if (outcome === 'unknown' || outcome === 'foreign') throw notFound()
      if (outcome === 'conflict')
        throw new AppError(409, 'conflict', 'The plugin has another hash by now. Read it again.', { param: 'hash' })
      forgetSnapshot(call.tenant.id)
      return Response.json(await renderDetail(call))
    },
  }),
  route({
    method: 'post',
    path: '/api/plugins/:name/pause',
    params,
    id: 'pausePlugin',
    scope: 'write',
    isTenantWide: true,
    tag,
    summary: 'Pause a plugin: its tools and hooks are gone',
    responses: ok('The plugin', detailShape),
    handle: (call) => setPaused(call, true),
  }),
  route({
    method: 'post',
    path: '/api/plugins/:name/resume',
    params,
    id: 'resumePlugin',
    scope: 'write',
    isTenantWide: true,
    tag,
    summary: 'Resume a plugin that was paused or has failed',
    responses: ok('The plugin', detailShape),
    handle: (call) => setPaused(call, false),
  }),
]
