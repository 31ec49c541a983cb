/** Serves `/api/mcp`: the MCP servers of a tenant, their tools, and which of those a person has approved. */

import * as z from 'zod'
import { backendKinds } from '#agent/core/backend.ts'
import { mcpOf, type StoredServer } from '#durable/tenant/mcp/server-row.ts'
import type { Refusal, ServerFields } from '#durable/tenant/mcp/change-server.ts'
import { forgetSnapshot } from '#durable/tenant/tenant-snapshot.ts'
import { AppError, notFound } from '../errors.ts'
import { publicOrigin, renderOAuthCookie } from './mcp-oauth.ts'
import { type RouteCall, route } from '../route.ts'
import { requireFound } from '../sessions.ts'
import { created, listOf, ok } from '../shapes.ts'
import { nameSchemas } from '../schema-names.ts'
import { requireEncryptionKey } from '../secrets/require-encryption-key.ts'

const tag = 'MCP servers'
const params = { alias: { description: 'The alias of the server.', example: 'wiki' } }
const patterns = z.array(z.string().min(1).max(200)).max(1_000)
const header = z
  .string()
  .min(1)
  .max(4_096)
  .regex(/^[ -~]*$/)

const changeable = {
  url: z.string().max(2_000),
  transport: z.enum(['http', 'sse', 'stdio']),
  auth: z.enum(['none', 'bearer', 'headers', 'oauth']),
  token: header,
  headers: z.record(z.string().regex(/^[\w-]{1,64}$/), header),
  oauth: z
    .strictObject({
      client_id: z.string().min(1).max(2_000),
      client_secret: header,
      scope: z.string().max(2_000),
    })
    .partial(),
  command: z.string().min(1).max(1_000).describe('Of a program (stdio), which runs on the hosts of sessions.'),
  args: z.array(z.string().max(4_096)).max(100),
  env: z
    .record(z.string().regex(/^[A-Za-z_]\w{0,63}$/), z.string().max(4_096))
    .describe('The environment of the program. ${NAME} stands for a secret.'),
  enabled: z.boolean(),
  trusted: z.boolean(),
  tools: z.strictObject({
    include: patterns.optional(),
    exclude: patterns.optional(),
    resources: z.boolean().optional(),
    prompts: z.boolean().optional(),
  }),
  timeout: z.number().min(1).max(3_600),
  connect_timeout: z.number().min(1).max(300),
  supports_parallel_tool_calls: z.boolean(),
  elicitation: z
    .strictObject({ enabled: z.boolean().default(true), timeout: z.number().min(1).max(86_400).default(300) })
    .describe('Whether the server may ask people, and how many seconds they have.'),
}
const change = z.strictObject(changeable).partial()
const newServer = change.extend({
  alias: z.string().regex(/^[A-Za-z0-9_-]{1,32}$/),
})
const time = z.iso.datetime().nullable()
const rowShape = z.looseObject({
  ...changeable,
  alias: z.string(),
  url: z.string().nullable().describe('Null for a program.'),
  command: z.string().optional(),
  args: z.array(z.string()).optional(),
  env: z.record(z.string(), z.string()).optional(),
  token: z.string().optional(),
  headers: z.record(z.string(), z.string()).optional(),
  oauth: z.record(z.string(), z.string()).optional(),
  status: z.enum(['ready', 'needs_auth', 'unavailable', 'disabled']),
  reason: z.string().nullable(),
  era: z.enum(['modern', 'legacy', 'sse']).nullable(),
  protocol_version: z.string().nullable(),
  tool_count: z.int(),
  breaker: z.enum(['closed', 'open', 'half_open']),
  fetched_at: time,
  source: z.enum(['tenant', 'deployment']),
  created_at: time,
  updated_at: time,
})
const toolShape = z.object({
  name: z.string(),
  tool: z.string(),
  title: z.string().nullable(),
  description: z.string(),
  input_schema: z.looseObject({}),
  annotations: z.looseObject({}).nullable(),
  hash: z.string(),
  state: z.enum(['active', 'filtered', 'changed', 'quarantined', 'invalid']),
  reason: z.string().nullable(),
  diff: z.record(z.string(), z.object({ before: z.unknown(), after: z.unknown() })).nullable(),
})
const testShape = z.object({
  ok: z.boolean(),
  era: rowShape.shape.era,
  protocol_version: z.string().nullable(),
  tools: z.int(),
  ms: z.number(),
  reason: z.string().nullable(),
})
const importShape = z.object({
  data: z.array(z.object({ alias: z.string(), status: z.string().optional(), error: z.string().optional() })),
})
nameSchemas({ McpServer: rowShape, McpTool: toolShape, McpTest: testShape })

type McpCall = RouteCall<unknown, unknown>
const connectMs = 10_000

const refuse = ({ status, code, message, param }: Refusal): never => {
  throw new AppError(status, code, message, { param })
}

async function findServer(call: McpCall, alias = call.param('alias')) {
  const servers = await mcpOf(call.env, call.tenant.id).list(call.authority)
  return requireFound(servers.find(({ config }) => config.alias.toLowerCase() === alias.toLowerCase()))
}

const render = async (server: StoredServer) => (await import('#durable/tenant/mcp/change-server.ts')).renderRow(server)

async function connect(call: McpCall, server: StoredServer) {
  const { refreshServer } = await import('#durable/tenant/mcp/list-server.ts')
  const runInBackground = (work: Promise<unknown>) => call.web.executionCtx.waitUntil(work)
  const { env, tenant } = call
  const timeoutMs = Math.min(connectMs, server.config.connect_timeout * 1_000)
  const access = { env, tenantId: tenant.id, secrets: tenant.secrets, runInBackground }
  const listing = await refreshServer(server, access, timeoutMs)
  forgetSnapshot(tenant.id)
  return listing
}

async function build(call: McpCall, fields: ServerFields, stored?: StoredServer) {
  const { env, tenant, authority } = call
  if (fields.token !== undefined || fields.headers || fields.oauth?.client_secret || fields.env)
    requireEncryptionKey(env)
  const context = { env, tenantId: tenant.id, authority }
  if ((fields.transport ?? stored?.config.transport) === 'stdio') {
    const { buildProgram } = await import('#durable/tenant/mcp/change-program.ts')
    return buildProgram(fields, { ...context, hasHost: await runsPrograms(env) }, stored)
  }
  const { buildConfig } = await import('#durable/tenant/mcp/change-server.ts')
  return buildConfig(fields, context, stored)
}

async function runsPrograms(env: Env): Promise<boolean> {
  const { explainMissingBackend } = await import('#durable/workspace/open-backend.ts')
  return backendKinds.some((kind) => kind !== 'virtual' && explainMissingBackend(kind, env) === undefined)
}

async function create(call: McpCall, fields: ServerFields & { readonly alias: string }) {
  const built = await build(call, fields)
  if ('refusal' in built) return refuse(built.refusal)
  const outcome = await mcpOf(call.env, call.tenant.id).create(call.authority, built.config)
  if (outcome === 'foreign') throw notFound()
  if (outcome === 'conflict')
    throw new AppError(409, 'conflict', `There is already a server named ${fields.alias}.`, { param: 'alias' })
  if (outcome === 'full') throw new AppError(409, 'conflict', 'There are already 100 servers. Delete one first.')
  if (built.config.enabled) await connect(call, await findServer(call, fields.alias))
  else forgetSnapshot(call.tenant.id)
  return findServer(call, fields.alias)
}

async function updateServer(call: RouteCall<unknown, z.infer<typeof change>>): Promise<Response> {
  const server = await findServer(call)
  const { body, env, tenant, authority } = call
  const { alias } = server.config
  if (server.source === 'deployment') {
    const other = Object.keys(body).find((name) => name !== 'enabled' && name !== 'tools')
    if (other)
      throw new AppError(
        403,
        'policy',
        'The deployment defines this server (MCP_SERVERS): only enabled and tools can be changed.',
        { param: other },
      )
    const { enabled = server.config.enabled, tools = server.config.tools } = body
    await mcpOf(env, tenant.id).update(authority, alias, { enabled, tools })
  } else {
    const built = await build(call, body, server)
    if ('refusal' in built) return refuse(built.refusal)
    const { alias: _, ...config } = built.config
    requireFound((await mcpOf(env, tenant.id).update(authority, alias, config)) || undefined)
  }
  forgetSnapshot(tenant.id)
  const isReached =
    ['url', 'transport', 'auth', 'token', 'headers', 'oauth'].some((name) => name in body) || body.enabled === true
  if (isReached && body.enabled !== false) await connect(call, await findServer(call))
  return Response.json(await render(await findServer(call)))
}

async function importServers(call: McpCall, file: Readonly<Record<string, unknown>>): Promise<Response> {
  const { readServers } = await import('#agent/mcp/import-config.ts')
  const data = []
  for (const found of readServers(file)) {
    const { alias } = found
    if ('error' in found) {
      data.push(found)
      continue
    }
    const parsed = newServer.safeParse(found.row)
    if (!parsed.success) {
      data.push({ alias, error: z.prettifyError(parsed.error) })
      continue
    }
    try {
      const { config, state } = await create(call, parsed.data)
      data.push({ alias, status: config.enabled ? state.status : 'disabled' })
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      data.push({ alias, error: error.message })
    }
  }
  return Response.json({ data })
}

async function startSignIn(call: McpCall): Promise<Response> {
  const { env, tenant, authority, web } = call
  const server = await findServer(call)
  if (server.config.auth !== 'oauth' && server.config.auth !== 'none')
    throw new AppError(400, 'invalid_request', 'The server has a token or headers. Set auth to oauth first.')
  requireEncryptionKey(env)
  const { OAuthRefusal, startSignIn: start } = await import('#durable/tenant/mcp/oauth/sign-in.ts')
  const origin = publicOrigin(env, web.req.url)
  try {
    const access = { env, tenantId: tenant.id, secrets: tenant.secrets }
    const isPublic = env.PUBLIC_URL !== undefined && origin.startsWith('https:')
    const begun = await start(server, access, { authority, origin, isPublic })
    if (begun === 'foreign') throw notFound()
    const body = { authorize_url: begun.authorizeUrl, expires_at: new Date(begun.expiresAt).toISOString() }
    return Response.json(body, {
      headers: { 'cache-control': 'no-store', 'set-cookie': renderOAuthCookie(origin, begun.cookie) },
    })
  } catch (error) {
    if (error instanceof OAuthRefusal) throw new AppError(400, 'invalid_request', error.message)
    throw error
  }
}

export const mcpRoutes = [
  route({
    method: 'get',
    path: '/api/mcp/servers',
    id: 'listMcpServers',
    scope: 'read',
    tag,
    summary: 'MCP servers and their health',
    responses: ok('Servers, by alias', listOf(rowShape)),
    handle: async ({ env, tenant, authority }) => {
      const servers = await mcpOf(env, tenant.id).list(authority)
      return Response.json({ data: await Promise.all(servers.map(render)), next_cursor: null })
    },
  }),
  route({
    method: 'post',
    path: '/api/mcp/servers',
    id: 'createMcpServer',
    scope: 'write',
    isTenantWide: true,
    tag,
    summary: 'Add a server, connect and list its tools; one that cannot be reached is stored too',
    example: { alias: 'wiki', url: 'https://wiki.example.com/mcp' },
    body: newServer,
    responses: created('The server', rowShape),
    handle: async (call) => Response.json(await render(await create(call, call.body)), { status: 201 }),
  }),
  route({
    method: 'get',
    path: '/api/mcp/servers/:alias',
    params,
    id: 'getMcpServer',
    scope: 'read',
    tag,
    summary: 'A server',
    responses: ok('The server', rowShape),
    handle: async (call) => Response.json(await render(await findServer(call))),
  }),
  route({
    method: 'patch',
    path: '/api/mcp/servers/:alias',
    params,
    id: 'updateMcpServer',
    scope: 'write',
    isTenantWide: true,
    tag,
    summary: 'Change a server',
    example: { enabled: false },
    body: change,
    responses: ok('The server', rowShape),
    handle: updateServer,
  }),
  route({
    method: 'delete',
    path: '/api/mcp/servers/:alias',
    params,
    id: 'deleteMcpServer',
    scope: 'write',
    isTenantWide: true,
    tag,
    summary: 'Delete a server and its credentials',
    responses: { 204: { description: 'Deleted' } },
    handle: async (call) => {
      const { source, config } = await findServer(call)
      if (source === 'deployment')
        throw new AppError(403, 'policy', 'The deployment defines this server (MCP_SERVERS).')
      requireFound((await mcpOf(call.env, call.tenant.id).remove(call.authority, config.alias)) || undefined)
      forgetSnapshot(call.tenant.id)
      return new Response(null, { status: 204 })
    },
  }),
  route({
    method: 'post',
    path: '/api/mcp/servers/:alias/test',
    params,
    id: 'testMcpServer',
    scope: 'write',
    isTenantWide: true,
    tag,
    summary: 'Connect to a server anew and say how it went',
    responses: ok('The verdict', testShape),
    handle: async (call) => {
      const { state, tools = [], ms } = await connect(call, await findServer(call))
      const { status, era = null, version = null, reason = null } = state
      return Response.json({ ok: status === 'ready', era, protocol_version: version, tools: tools.length, ms, reason })
    },
  }),
  route({
    method: 'post',
    path: '/api/mcp/servers/:alias/refresh',
    params,
    id: 'updateMcpTools',
    scope: 'write',
    isTenantWide: true,
    tag,
    summary: 'List the tools of a server anew',
    responses: ok('The server', rowShape),
    handle: async (call) => {
      await connect(call, await findServer(call))
      return Response.json(await render(await findServer(call)))
    },
  }),
  route({
    method: 'get',
    path: '/api/mcp/servers/:alias/tools',
    params,
    id: 'listMcpTools',
    scope: 'read',
    tag,
    summary: 'The tools of a server, also those that are withheld, with the reason',
    responses: ok('Tools, by name', listOf(toolShape)),
    handle: async ({ env, tenant, authority, param }) => {
      const tools = requireFound(await mcpOf(env, tenant.id).tools(authority, param('alias')))
      const data = tools.map(
        ({
          name,
          tool,
          title = null,
          description,
          input_schema,
          annotations = null,
          hash,
          state,
          reason = null,
          diff = null,
        }) => ({
          name,
          tool,
          title,
          description,
          input_schema,
          annotations,
          hash,
          state,
          reason,
          diff,
        }),
      )
      return Response.json({ data, next_cursor: null })
    },
  }),
  route({
    method: 'post',
    path: '/api/mcp/servers/:alias/approve',
    params,
    id: 'approveMcpTools',
    scope: 'approve',
    isTenantWide: true,
    tag,
    summary: 'Approve tools that have changed or whose texts look like an attack',
    body: z.strictObject({
      tools: z
        .array(z.strictObject({ tool: z.string(), hash: z.string() }))
        .min(1)
        .max(1_000),
    }),
    example: { tools: [{ tool: 'search', hash: '0f8d6c7b2a9e4d31b5c0a7e9d2f4b681' }] },
    errors: ['Conflict'],
    responses: ok('The server', rowShape),
    handle: async (call) => {
      const outcome = await mcpOf(call.env, call.tenant.id).approve(
        call.authority,
        call.param('alias'),
        call.body.tools,
      )
      if (outcome === 'unknown' || outcome === 'foreign') throw notFound()
      if (outcome === 'conflict')
        throw new AppError(409, 'conflict', 'A tool has another hash by now. List the tools again.')
      forgetSnapshot(call.tenant.id)
      return Response.json(await render(await findServer(call)))
    },
  }),
  route({
    method: 'post',
    path: '/api/mcp/servers/:alias/oauth/start',
    params,
    id: 'createMcpSignIn',
    scope: 'write',
    tag,
    summary: 'Begin the sign-in to a server; a browser opens the address within ten minutes',
    responses: ok(
      'Where to sign in. Only the browser that has the cookie of this answer can finish.',
      z.object({ authorize_url: z.string(), expires_at: z.iso.datetime() }),
    ),
    handle: startSignIn,
  }),
  route({
    method: 'delete',
    path: '/api/mcp/servers/:alias/oauth',
    params,
    id: 'deleteMcpSignIn',
    scope: 'write',
    tag,
    summary: 'Forget the tokens of a server',
    responses: { 204: { description: 'Forgotten' } },
    handle: async (call) => {
      const { config } = await findServer(call)
      requireFound((await mcpOf(call.env, call.tenant.id).forgetGrant(call.authority, config.alias)) || undefined)
      forgetSnapshot(call.tenant.id)
      return new Response(null, { status: 204 })
    },
  }),
  route({
    method: 'post',
    path: '/api/mcp/import',
    id: 'importMcpServers',
    scope: 'write',
    isTenantWide: true,
    tag,
    summary: 'Add the servers of a configuration of Claude Code, Claude Desktop, Cursor, VS Code or Hermes',
    example: { mcpServers: { wiki: { url: 'https://wiki.example.com/mcp' } } },
    body: z.looseObject({}),
    responses: ok('What became of each', importShape),
    handle: (call) => importServers(call, call.body),
  }),
]
