/** Serves `/mcp`: tools, resources and prompts of the agent for MCP clients, with the rights of the key that asks. */

import { isJsonObject, type JsonObject } from '#agent/core/parse-json.ts'
import * as z from 'zod'
import { hasScope } from '#agent/core/permission/authority.ts'
import type { Identity } from '#agent/core/permission/roles.ts'
import { encodeBase64Bytes } from '#agent/core/base64.ts'
import { fetchTenantSnapshot } from '#durable/tenant/tenant-snapshot.ts'
import { clock } from '#durable/platform/clock.ts'
import { requireAccess } from '../../access.ts'
import { AppError, renderError } from '../../errors.ts'
import type { ApiRoute, RequestContext } from '../../route.ts'
import { addressSession, splitRequestId } from '../../sessions.ts'
import { type CallApi, openApi } from './api-calls.ts'
import { type AskedRun as StartedRun, askClient, type AskingServer, takeClientAnswer } from './ask-client.ts'
import { answerRequest, invalidParams, readMessage, requireText, RpcError, type RpcMethods } from './protocol.ts'
import {
  type approvalInput,
  type chatInput,
  filePath,
  maxWaitSeconds,
  type McpTool,
  messagesPath,
  part,
  skillPath,
  tools,
} from './tools.ts'

export type McpRequest = {
  readonly web: RequestContext
  readonly identity: Identity
  readonly routes: readonly ApiRoute[]
  readonly text: string
}

type Server = {
  readonly web: RequestContext
  readonly authority: ReturnType<typeof requireAccess>
  readonly call: CallApi
  /** The tools that the key may call. */
  readonly offered: ReadonlyMap<string, McpTool>
}

const operations = new Set(tools.map(({ operation }) => operation))

export async function serveMcp(request: McpRequest): Promise<Response> {
  const { web, identity, routes, text } = request
  const message = readMessage(text, web.req.raw.headers)
  if (message instanceof Response) return message
  const authority = requireAccess(await fetchTenantSnapshot(web.env, identity.tenantId), identity)
  const scopeOf = new Map(routes.map(({ id, scope }) => [id, scope]))
  const mayCall = ({ operation }: McpTool) => {
    const scope = scopeOf.get(operation)
    return scope !== undefined && hasScope(authority, scope)
  }
  const offered = new Map(tools.filter(mayCall).map((tool) => [tool.name, tool]))
  return answerRequest(message, createMethods({ web, authority, call: openApi(routes, operations, request), offered }))
}

function createMethods(server: Server): RpcMethods {
  const canRead = server.offered.has('session_messages')
  return {
    'tools/list': () => ({ tools: [...server.offered.values()].map(renderTool) }),
    'tools/call': (params) => callTool(server, params),
    ...(canRead && {
      'resources/list': () => listResources(server),
      'resources/templates/list': () => ({ resourceTemplates }),
      'resources/read': (params) => readResource(server, params),
      'prompts/list': () => listPrompts(server),
      'prompts/get': (params) => getPrompt(server, params),
    }),
  }
}

const schemas = new WeakMap<McpTool, object>()

function renderTool(tool: McpTool): JsonObject {
  let inputSchema = schemas.get(tool)
  if (!inputSchema) {
    const { $schema: _dialect, ...schema } = z.toJSONSchema(tool.input, { io: 'input' })
    schemas.set(tool, (inputSchema = schema))
  }
  const { name, title, description, annotations } = tool
  return { name, title, description, inputSchema, annotations }
}

async function callTool(server: Server, params: JsonObject): Promise<JsonObject> {
  const name = requireText(params, 'name')
  const tool = server.offered.get(name)
  if (!tool) throw invalidParams(`There is no tool ${JSON.stringify(name).slice(0, 100)} for this key.`)
  try {
    return await runTool(server, tool, params)
  } catch (error) {
    if (error instanceof AppError && error.status < 500) return renderAnswer(renderError(error))
    throw error
  }
}

async function runTool(server: Server, tool: McpTool, params: JsonObject): Promise<JsonObject> {
  const parsed = tool.input.safeParse(params['arguments'] ?? {})
  if (!parsed.success) return renderFailure({ message: z.prettifyError(parsed.error) })
  if (tool.name === 'chat') return chat(server, parsed.data as z.infer<typeof chatInput>, params)
  if (tool.name === 'approval_answer') return answerApproval(server, parsed.data as z.infer<typeof approvalInput>)
  const toCall = tool.toCall as ((input: unknown) => Parameters<CallApi>[0]) | undefined
  if (!toCall) throw new Error(`The tool ${tool.name} has no call.`)
  return renderAnswer(await server.call(toCall(parsed.data)), tool.name === 'files_read')
}

const renderSuccess = (value: JsonObject): JsonObject => ({
  content: [{ type: 'text', text: JSON.stringify(value) }],
  structuredContent: value,
})

const renderFailure = (error: JsonObject): JsonObject => ({
  content: [{ type: 'text', text: String(error['message'] ?? 'It failed.') }],
  structuredContent: { error },
  isError: true,
})

async function renderAnswer(response: Response, isFile = false): Promise<JsonObject> {
  if (isFile && response.ok && isBytes(response)) return renderSuccess(await readFile(response))
  const body: unknown = await response.json()
  const value = isJsonObject(body) ? body : { data: body }
  if (response.ok) return renderSuccess(value)
  return renderFailure(isJsonObject(value['error']) ? value['error'] : {})
}

const isBytes = (response: Response): boolean =>
  response.headers.get('content-type')?.startsWith('application/octet-stream') === true

/** Larger files are for the API. */
const maxFileBytes = 4_000_000

async function readFile(response: Response): Promise<JsonObject> {
  const bytes = new Uint8Array(await response.arrayBuffer())
  if (bytes.length > maxFileBytes)
    throw new RpcError(-32_602, `The file has ${bytes.length} bytes. Read it by the API.`)
  const text = decodeText(bytes)
  return { bytes: bytes.length, ...(text === undefined ? { base64: encodeBase64Bytes(bytes) } : { text }) }
}

function decodeText(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: false }).decode(bytes)
  } catch {
    return undefined // It is no text, and is sent as base64.
  }
}

const ended: ReadonlySet<unknown> = new Set(['completed', 'failed', 'cancelled', 'waiting'])
const firstPollMs = 150
const maxPollMs = 1_000

/** The run is stored before this waits, so a client that goes away loses nothing. */
async function chat(server: Server, input: z.infer<typeof chatInput>, params: JsonObject): Promise<JsonObject> {
  const { message, session_id: session, wait } = input
  const asking = { env: server.web.env, authority: server.authority, call: server.call, params }
  const answered = await takeClientAnswer(asking)
  if (answered) return followRun(server, answered.run, wait, answered.isDecided ? asking : undefined)
  const body = { input: message, ...(session !== undefined && { session_id: session }) }
  const started = await server.call({ method: 'POST', path: '/v1/runs', body })
  return started.ok ? followRun(server, (await started.json()) as StartedRun, wait, asking) : renderAnswer(started)
}

/** `asking`: the client may be asked about what the run waits for. */
async function followRun(server: Server, ids: StartedRun, wait = maxWaitSeconds, asking?: AskingServer) {
  const run = await waitForRun(server, ids, wait)
  const { status = 'running', output = null, error = null } = run ?? {}
  const question = asking && status === 'waiting' ? await askClient(asking, ids) : undefined
  const { session_id, run_id } = ids
  return question ?? renderSuccess({ session_id, run_id, status, output, ...(error !== null && { error }) })
}

async function waitForRun(
  { web, authority }: Server,
  { session_id: session, run_id: id }: StartedRun,
  seconds: number,
) {
  const stub = addressSession(web.env, authority.tenantId, session)
  const until = clock.now() + seconds * 1_000
  for (let pause = firstPollMs; ; pause = Math.min(pause * 1.5, maxPollMs)) {
    const run = await stub.runs.get(authority, id)
    if (ended.has(run?.status) || clock.now() + pause > until || web.req.raw.signal.aborted) return run
    const { promise, resolve } = Promise.withResolvers<void>()
    clock.schedule(pause, resolve)
    await promise
  }
}

/** Otherwise an agent that works through this key could allow its own calls. */
async function answerApproval(
  { web, authority, call }: Server,
  { approval_id: id, ...answer }: z.infer<typeof approvalInput>,
): Promise<JsonObject> {
  const [sessionId, request] = splitRequestId(id)
  const isOwn = await addressSession(web.env, authority.tenantId, sessionId).pending.isAskedBy(authority, request)
  if (isOwn) return renderFailure({ message: 'This key began the run, so a person has to answer in another way.' })
  const path = `/api/approvals/${part(id)}`
  return renderAnswer(await call({ method: 'POST', path, body: answer }))
}

const resourceTemplates = [
  {
    name: 'session',
    title: 'Messages of a conversation',
    uriTemplate: 'talaria://session/{id}',
    mimeType: 'application/json',
  },
  { name: 'file', title: 'A file of a conversation', uriTemplate: 'talaria://file/{session}/{+path}' },
] as const

const maxResources = 100

type SessionList = { readonly data: readonly { readonly id: string; readonly title: string | null }[] }

async function listResources({ call }: Server): Promise<JsonObject> {
  const { data } = await readJson<SessionList>(call, `/api/sessions?limit=${maxResources}`)
  return {
    resources: data.map(({ id, title }) => ({
      uri: `talaria://session/${encodeURIComponent(id)}`,
      name: title ?? id,
      mimeType: 'application/json',
    })),
  }
}

async function readResource({ call }: Server, params: JsonObject): Promise<JsonObject> {
  const address = requireText(params, 'uri')
  const [, kind, session = '', path = ''] =
    /^talaria:\/\/(session|file)\/([^/?#]{1,200})(?:\/([^?#]{1,2000}))?$/.exec(address) ?? []
  if (kind === undefined || (kind === 'file') !== (path !== '')) throw unknownResource(address)
  const [id, file] = [decode(session), decode(path)]
  const response = await call({ method: 'GET', path: kind === 'file' ? filePath(id, file) : messagesPath(id) })
  if (!response.ok) throw unknownResource(address)
  if (!isBytes(response))
    return { contents: [{ uri: address, mimeType: 'application/json', text: await response.text() }] }
  const { text, base64 } = await readFile(response)
  return {
    contents: [
      text === undefined
        ? { uri: address, mimeType: 'application/octet-stream', blob: base64 }
        : { uri: address, mimeType: 'text/plain', text },
    ],
  }
}

const unknownResource = (uri: string): RpcError =>
  new RpcError(-32_602, 'There is no such resource.', { uri: uri.slice(0, 500) })

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text // A name with a bare % is taken as it is.
  }
}

type SkillList = { readonly data: readonly { readonly name: string; readonly description: string }[] }

async function listPrompts({ call }: Server): Promise<JsonObject> {
  const { data } = await readJson<SkillList>(call, '/v1/skills')
  return {
    prompts: data.map(({ name, description }) => ({
      name,
      description,
      arguments: [{ name: 'input', description: 'What to use the skill for.', required: false }],
    })),
  }
}

async function getPrompt({ call }: Server, params: JsonObject): Promise<JsonObject> {
  const { arguments: given } = params
  const response = await call({ method: 'GET', path: skillPath(requireText(params, 'name')) })
  if (!response.ok) throw invalidParams('There is no such prompt.')
  const { content, description } = (await response.json()) as { content: string; description: string }
  const input = isJsonObject(given) && typeof given['input'] === 'string' ? given['input'] : ''
  const text = [content, input].filter(Boolean).join('\n\n')
  return { description, messages: [{ role: 'user', content: { type: 'text', text } }] }
}

async function readJson<Body>(call: CallApi, path: string): Promise<Body> {
  const response = await call({ method: 'GET', path })
  if (!response.ok) throw new RpcError(-32_603, 'It cannot be read now.')
  return (await response.json()) as Body
}
