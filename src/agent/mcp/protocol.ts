/**
 * Builds and reads the messages of the Model Context Protocol: the stateless revision of 2026-07-28 ("modern"), and the
 * revisions with a handshake before it ("legacy").
 */

import { isJsonObject, type JsonObject } from '#agent/core/parse-json.ts'
import { encodeBase64Bytes } from '#agent/core/base64.ts'

/** `sse`: the transport of 2024-11-05, whose answers come on a stream of their own. */
export type Era = 'modern' | 'legacy' | 'sse'

export const modernVersion = '2026-07-28'
const legacyVersion = '2025-11-25'
const legacyVersions: readonly string[] = [legacyVersion, '2025-06-18', '2025-03-26', '2024-11-05']

export type RpcMessage = {
  readonly jsonrpc: '2.0'
  readonly id?: number | string
  readonly method?: string
  readonly params?: JsonObject
  readonly result?: JsonObject
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown }
}

const clientInfo = { name: 'talaria', title: 'Talaria', version: '1' }
/** `elicitation`: a person is there whom the server may ask. Sampling and roots are never offered. */
export type Offers = { readonly elicitation: boolean }

const noOffers: Offers = { elicitation: false }
const tasksExtension = 'io.modelcontextprotocol/tasks'

const capabilitiesOf = ({ elicitation }: Offers, era: Era) => ({
  ...(elicitation && { elicitation: { form: {}, url: {} } }),
  ...(era === 'modern' && { extensions: { [tasksExtension]: {} } }),
})

type RpcRequestOptions = {
  readonly era: Era
  readonly version: string
  readonly id: number
  readonly method: string
  readonly params?: JsonObject
  readonly progressToken?: string
  readonly offers?: Offers | undefined
}

/** Creates a request. The modern revision repeats version and capabilities in each one. */
export function createRequest({
  era,
  version,
  id,
  method,
  params = {},
  progressToken,
  offers = noOffers,
}: RpcRequestOptions): RpcMessage {
  const meta = {
    ...(era === 'modern' && {
      'io.modelcontextprotocol/protocolVersion': version,
      'io.modelcontextprotocol/clientInfo': clientInfo,
      'io.modelcontextprotocol/clientCapabilities': capabilitiesOf(offers, era),
    }),
    ...(progressToken !== undefined && { progressToken }),
  }
  const withMeta = Object.keys(meta).length ? { ...params, _meta: meta } : params
  return { jsonrpc: '2.0', id, method, ...(Object.keys(withMeta).length && { params: withMeta }) }
}

export const createInitialize = (id: number, version = legacyVersion, offers = noOffers): RpcMessage => ({
  jsonrpc: '2.0',
  id,
  method: 'initialize',
  params: { protocolVersion: version, capabilities: capabilitiesOf(offers, 'legacy'), clientInfo },
})

export const createNotification = (method: string, params?: JsonObject): RpcMessage => ({
  jsonrpc: '2.0',
  method,
  ...(params && { params }),
})

/** Answers a request of the server. Only its ping has an answer; nothing else was offered. */
export const answerServer = ({ id, method }: RpcMessage): RpcMessage | undefined => {
  if (id === undefined || method === undefined) return undefined
  if (method === 'ping') return { jsonrpc: '2.0', id, result: {} }
  return { jsonrpc: '2.0', id, error: { code: -32_601, message: `The client does not offer ${method}.` } }
}

/** The headers that mirror a modern request, so that proxies need not read its body. */
export function createHeaders(
  { method = '', params }: RpcMessage,
  {
    era,
    version,
    sessionId,
  }: { readonly era: Era; readonly version?: string | undefined; readonly sessionId?: string | undefined },
): Record<string, string> {
  const headers: Record<string, string> = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
  }
  if (version !== undefined) headers['mcp-protocol-version'] = version
  if (sessionId !== undefined) headers['mcp-session-id'] = sessionId
  if (era !== 'modern') return headers
  headers['mcp-method'] = method
  const name = params?.['name'] ?? params?.['uri'] ?? params?.['taskId']
  if (typeof name === 'string') headers['mcp-name'] = encodeHeaderValue(name)
  return headers
}

/** Wraps a value that a header cannot carry as it is, or that looks like a wrapped one. */
export const encodeHeaderValue = (value: string): string =>
  /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(value) && !/^=\?base64\?.*\?=$/i.test(value)
    ? value
    : `=?base64?${encodeBase64Bytes(new TextEncoder().encode(value))}?=`

/** The era of a server, as its answer to `server/discover` shows it. */
export type ProbeVerdict =
  | { readonly era: 'modern'; readonly version: string }
  | { readonly era: 'legacy' }
  /** Such an answer decides nothing. */
  | { readonly era: 'unknown'; readonly reason: string }

const modernErrors: ReadonlySet<number> = new Set([-32_020, -32_021, -32_022])

/** A lenient server answers anything with 200, so only `supportedVersions` makes it modern. */
export function judgeProbe(status: number, message: RpcMessage | undefined): ProbeVerdict {
  const versions = message?.result?.['supportedVersions']
  if (Array.isArray(versions)) return judgeVersions(versions)
  const { code = 0, data } = message?.error ?? {}
  if (modernErrors.has(code)) return judgeVersions(readSupported(data))
  if (undecided.has(status) || status >= 500) return { era: 'unknown', reason: `it answered with status ${status}` }
  return { era: 'legacy' }
}

/** Statuses that servers of both eras answer with. */
const undecided: ReadonlySet<number> = new Set([401, 403, 429])

const readSupported = (data: unknown): readonly unknown[] =>
  isJsonObject(data) && Array.isArray(data['supported']) ? data['supported'] : []

function judgeVersions(versions: readonly unknown[]): ProbeVerdict {
  if (versions.includes(modernVersion)) return { era: 'modern', version: modernVersion }
  if (versions.some(isKnownLegacyVersion)) return { era: 'legacy' }
  const named = versions.length ? `: it supports ${versions.slice(0, 5).join(', ')}` : ''
  return { era: 'unknown', reason: `it has no version in common with this client${named}` }
}

export const isKnownLegacyVersion = (version: unknown): version is string =>
  typeof version === 'string' && legacyVersions.includes(version)

/** Reads one message or the messages of a batch. Other values are left out. */
export function parseMessages(text: string): readonly RpcMessage[] {
  const value = tryParse(text)
  return (Array.isArray(value) ? value : [value]).filter(
    (one): one is RpcMessage => isJsonObject(one) && one['jsonrpc'] === '2.0',
  )
}

function tryParse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined // A page of HTML, or nothing.
  }
}

/** An answer may repeat a number as text, as servers in languages without such types do. */
export const answersTo = ({ id, method }: RpcMessage, asked: RpcMessage['id']): boolean =>
  method === undefined && id != null && String(id) === String(asked)

const maxExcerptChars = 200

/** The beginning of a foreign text, without the markup of a page. */
export const excerptOf = (text: string): string =>
  text
    .slice(0, 20_000)
    .replace(/<(script|style)\b[^<>]{0,500}>[^<]{0,10000}<\/\1>/gi, ' ')
    .replace(/<[^<>]{0,500}>/g, ' ')
    .replace(/\s+/g, ' ')
    .trim()
    .slice(0, maxExcerptChars)

/** Explains why an answer with a good status does not belong to the request. */
export function explainNoAnswer(text: string): string {
  if (!text.trim()) return 'The server answered with nothing.'
  const excerpt = excerptOf(text) || 'it has no text'
  if (text.trimStart().startsWith('<'))
    return `The server answered with a page and not with a message of MCP. Check its address. The page: ${excerpt}`
  if (tryParse(text) === undefined) return `The server answered with text that is not JSON: ${excerpt}`
  if (parseMessages(text).length) return 'The server answered another request than this one.'
  return `The server answered with JSON that is no message of MCP: ${excerpt}`
}

/** The text of a progress notification: the server's message, else how far it is. */
export function renderProgress({ method, params = {} }: RpcMessage): string | undefined {
  if (method !== 'notifications/progress') return undefined
  const { message, progress, total } = params
  if (typeof message === 'string' && message !== '') return `${message}\n`
  if (typeof progress !== 'number') return undefined
  return typeof total === 'number' ? `${progress}/${total}\n` : `${progress}\n`
}
