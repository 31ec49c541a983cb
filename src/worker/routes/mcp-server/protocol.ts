/**
 * Answers the messages of MCP clients: the stateless revision of 2026-07-28 ("modern") and the revisions with a handshake
 * before it ("legacy"). No session is kept in either, so any isolate answers any request.
 */

import { isJsonObject, type JsonObject } from '#agent/core/parse-json.ts'
import { isKnownLegacyVersion, modernVersion } from '#agent/mcp/protocol.ts'
import { toAppError } from '../../errors.ts'

export type RpcId = string | number | null

export type RpcRequest = {
  readonly id: RpcId
  readonly method: string
  readonly params: JsonObject
  readonly isModern: boolean
}

/** The methods of the server. What a method throws is answered as an error of the protocol. */
export type RpcMethods = Readonly<Record<string, (params: JsonObject) => Promise<JsonObject> | JsonObject>>

export class RpcError extends Error {
  override readonly name = 'RpcError'
  readonly code: number
  readonly data: JsonObject | undefined
  constructor(code: number, message: string, data?: JsonObject) {
    super(message)
    this.code = code
    this.data = data
  }
}

export const invalidParams = (message: string): RpcError => new RpcError(codes.invalidParams, message)

/** Reads a parameter that must be a text: a list of one text would be taken for it else. */
export function requireText(params: JsonObject, field: string): string {
  const value = params[field]
  if (typeof value === 'string') return value
  throw invalidParams(`params.${field} must be a text.`)
}

const codes = {
  parse: -32_700,
  invalidRequest: -32_600,
  methodNotFound: -32_601,
  invalidParams: -32_602,
  internal: -32_603,
  headerMismatch: -32_020,
  version: -32_022,
} as const

const latestLegacyVersion = '2025-11-25'
const supportedVersions = [modernVersion, '2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'] as const

const metaKey = 'io.modelcontextprotocol/'
/** The methods whose header `Mcp-Name` repeats a parameter. */
const namedBy: Readonly<Record<string, string>> = {
  'tools/call': 'name',
  'prompts/get': 'name',
  'resources/read': 'uri',
}

/** Lists and documents change rarely, and differ from key to key. */
const cached = { ttlMs: 300_000, cacheScope: 'private' } as const
const cachedMethods = new Set([
  'server/discover',
  'tools/list',
  'resources/list',
  'resources/templates/list',
  'resources/read',
  'prompts/list',
  'prompts/get',
])

const serverInfo = { name: 'talaria', title: 'Talaria', version: '1' } as const

/** Reads one message. A response: it is a notification, or refused. */
export function readMessage(text: string, headers: Headers): RpcRequest | Response {
  const message = tryParse(text)
  if (message === undefined) return renderError(null, new RpcError(codes.parse, 'The body is not JSON.'), 400)
  if (!isJsonObject(message) || message['jsonrpc'] !== '2.0')
    return renderError(null, new RpcError(codes.invalidRequest, 'Send one JSON-RPC 2.0 message.'), 400)
  const { id, method } = message
  // A notification, or a response of a client to nothing that was asked.
  if (typeof method !== 'string' || id === undefined) return new Response(null, { status: 202 })
  if (typeof id !== 'string' && typeof id !== 'number')
    return renderError(null, new RpcError(codes.invalidRequest, 'The id must be a text or a number.'), 400)
  return readRequest(id, method, message['params'] ?? {}, headers)
}

function readRequest(id: RpcId, method: string, params: unknown, headers: Headers): RpcRequest | Response {
  if (!isJsonObject(params)) return renderError(id, invalidParams('params must be an object.'), 400)
  const meta = isJsonObject(params['_meta']) ? params['_meta'] : {}
  const isModern = isModernRequest(method, meta, headers)
  const request: RpcRequest = { id, method, params, isModern }
  const refusal = isModern ? checkModern(request, meta, headers) : checkLegacy(headers)
  return refusal ? renderError(id, refusal, 400) : request
}

function tryParse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined // The answer says so.
  }
}

/** A client of the old revisions sends neither of these, and knows no version after them. */
function isModernRequest(method: string, meta: JsonObject, headers: Headers): boolean {
  const version = headers.get('mcp-protocol-version')
  if (`${metaKey}protocolVersion` in meta || `${metaKey}clientCapabilities` in meta) return true
  return method === 'server/discover' || (version !== null && version >= modernVersion)
}

function checkLegacy(headers: Headers): RpcError | undefined {
  const version: unknown = headers.get('mcp-protocol-version')
  if (version === null || isKnownLegacyVersion(version)) return undefined
  return new RpcError(codes.invalidRequest, 'The protocol version is not supported.')
}

function checkModern({ method, params }: RpcRequest, meta: JsonObject, headers: Headers): RpcError | undefined {
  const version = meta[`${metaKey}protocolVersion`]
  if (typeof version !== 'string') return invalidParams(`_meta needs ${metaKey}protocolVersion.`)
  if (!isJsonObject(meta[`${metaKey}clientCapabilities`]))
    return invalidParams(`_meta needs ${metaKey}clientCapabilities.`)
  const header = headers.get('mcp-protocol-version')?.trim()
  if (header !== version) return mismatch('MCP-Protocol-Version')
  if (version !== modernVersion)
    return new RpcError(codes.version, 'The protocol version is not supported.', {
      supported: [modernVersion],
      requested: version,
    })
  if (headers.get('mcp-method')?.trim() !== method) return mismatch('Mcp-Method')
  const field = namedBy[method]
  const name = field === undefined ? undefined : params[field]
  if (typeof name !== 'string') return undefined
  return decodeHeader(headers.get('mcp-name')) === name ? undefined : mismatch('Mcp-Name')
}

const mismatch = (header: string): RpcError =>
  new RpcError(codes.headerMismatch, `The header ${header} must repeat what the body says.`)

function decodeHeader(value: string | null): string | undefined {
  const wrapped = /^=\?base64\?([A-Za-z0-9+/]*={0,2})\?=$/.exec(value?.trim() ?? '')
  if (!wrapped) return value?.trim()
  try {
    return new TextDecoder().decode(Uint8Array.from(atob(wrapped[1] ?? ''), (letter) => letter.charCodeAt(0)))
  } catch {
    return undefined // It is not base64, so it repeats nothing.
  }
}

/** Runs a request. Clients look for its id in the answer, so no failure is answered without it. */
export async function answerRequest(request: RpcRequest, methods: RpcMethods): Promise<Response> {
  const { id, method, params, isModern } = request
  const all: RpcMethods = isModern
    ? { ...methods, 'server/discover': () => discover(methods) }
    : { ...methods, initialize: () => initialize(params, methods), ping: () => ({}) }
  try {
    const run = Object.hasOwn(all, method) ? all[method] : undefined
    if (!run) throw new RpcError(codes.methodNotFound, `There is no method ${method.slice(0, 100)}.`)
    return renderResult(request, await run(params))
  } catch (error) {
    if (!(error instanceof RpcError)) return renderFailure(id, error)
    return renderError(id, error, isModern && error.code === codes.methodNotFound ? 404 : 200)
  }
}

/** Refusals are answers of the protocol. Failures of the server keep the status by which proxies and clients retry. */
function renderFailure(id: RpcId, error: unknown): Response {
  const { status, message, retryAfter = status === 503 ? 5 : undefined } = toAppError(error)
  const isOwn = status >= 500
  const response = renderError(
    id,
    new RpcError(isOwn ? codes.internal : codes.invalidParams, message),
    isOwn ? status : 200,
  )
  if (retryAfter !== undefined) response.headers.set('retry-after', String(retryAfter))
  return response
}

const listCapabilities = (methods: RpcMethods): JsonObject => ({
  ...('tools/list' in methods && { tools: {} }),
  ...('resources/list' in methods && { resources: {} }),
  ...('prompts/list' in methods && { prompts: {} }),
})

const instructions =
  'Talaria is an agent with its own tools, memory and files. `chat` gives it a task; it may take minutes, and then `run_status` tells how far it is.'

function initialize({ protocolVersion: version }: JsonObject, methods: RpcMethods): JsonObject {
  const protocolVersion = isKnownLegacyVersion(version) ? version : latestLegacyVersion
  return { protocolVersion, capabilities: listCapabilities(methods), serverInfo, instructions }
}

const discover = (methods: RpcMethods): JsonObject => ({
  supportedVersions: [...supportedVersions],
  capabilities: listCapabilities(methods),
  instructions,
})

function renderResult({ id, method, isModern }: RpcRequest, result: JsonObject): Response {
  const modern = isModern && {
    resultType: 'complete',
    ...(cachedMethods.has(method) && cached),
    _meta: { [`${metaKey}serverInfo`]: serverInfo },
  }
  return Response.json({ jsonrpc: '2.0', id, result: { ...modern, ...result } })
}

function renderError(id: RpcId, { code, message, data }: RpcError, status: number): Response {
  return Response.json({ jsonrpc: '2.0', id, error: { code, message, ...(data && { data }) } }, { status })
}
