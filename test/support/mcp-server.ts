/** A scripted MCP server in place of `fetch`: modern, legacy, or one that answers anything with 200. */

import { vi } from 'vitest'

export type Tool = { readonly name: string; readonly [field: string]: unknown }
export type Message = {
  readonly id?: number
  readonly method: string
  readonly params?: Record<string, unknown>
  /** Of an answer of the client. */
  readonly result?: Record<string, unknown>
}

export type McpServer = {
  era: 'modern' | 'legacy' | 'lenient' | 'sse'
  tools: readonly Tool[]
  /** The answer to a call: a result, a JSON-RPC error or a whole response. */
  answer: (
    name: string,
    input: Record<string, unknown>,
    signal: AbortSignal,
  ) => object | Response | Promise<object | Response>
  /** Answers requests first: with a result or a whole response. */
  handle: ((message: Message, request: Request) => object | Response | undefined) | undefined
  /** Replaces every answer. */
  down: (() => Response) | undefined
  readonly requests: { readonly method: string; readonly headers: Headers; readonly body: Message }[]
}

export const tool = (name: string, more: object = {}): Tool => ({
  name,
  description: `Does ${name}.`,
  inputSchema: { type: 'object', properties: { text: { type: 'string' } } },
  ...more,
})

export const text = (value: string, more: object = {}): object => ({
  content: [{ type: 'text', text: value }],
  ...more,
})

/** Answers requests for `host`; other requests go on. */
export function serveMcp(host: string, given: Partial<McpServer> = {}): McpServer {
  const server: McpServer = {
    era: 'modern',
    tools: [tool('echo')],
    answer: (name, input) => text(`${name} got ${JSON.stringify(input)}`),
    handle: undefined,
    down: undefined,
    requests: [],
    ...given,
  }
  // A second spy on `fetch` is the first one, so its implementation is what goes on.
  const before = vi.isMockFunction(fetch) ? vi.mocked(fetch).getMockImplementation() : undefined
  const goOn: typeof fetch = before ?? fetch
  vi.spyOn(globalThis, 'fetch').mockImplementation(async (input, init) => {
    const request = new Request(input as RequestInfo, init as RequestInit)
    if (new URL(request.url).host !== host) return goOn(input as RequestInfo, init as RequestInit)
    return respond(server, request)
  })
  return server
}

const json = (body: object, status = 200, headers: Record<string, string> = {}): Response =>
  Response.json(body, { status, headers })

let sessions = 0

async function respond(server: McpServer, request: Request): Promise<Response> {
  if (server.era === 'sse' && request.method === 'GET') return openStream(server)
  const headers = new Headers(request.headers)
  const body = (request.method === 'GET' ? { method: 'GET' } : await request.json()) as Message
  server.requests.push({ method: body.method, headers, body })
  if (server.down) return server.down()
  const handled = server.handle?.(body, request)
  if (handled) return handled instanceof Response ? handled : json({ jsonrpc: '2.0', id: body.id, result: handled })
  if (server.era === 'sse') {
    const reply = await answer(server, body, request)
    if (body.id !== undefined) stream?.(JSON.stringify(await reply.json()))
    return new Response(null, { status: 202 })
  }
  return answer(server, body, request)
}

let stream: ((data: string) => void) | undefined

function openStream(server: McpServer): Response {
  if (server.down) return server.down()
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>()
  const writer = writable.getWriter()
  const write = (event: string, data: string) =>
    void writer.write(new TextEncoder().encode(`event: ${event}\ndata: ${data}\n\n`)).catch(() => undefined)
  stream = (data) => write('message', data)
  write('endpoint', '/messages?s=1')
  return new Response(readable, { headers: { 'content-type': 'text/event-stream' } })
}

async function answer(server: McpServer, { id, method, params = {} }: Message, request: Request): Promise<Response> {
  const reply = (result: object, headers?: Record<string, string>) => json({ jsonrpc: '2.0', id, result }, 200, headers)
  const isModern = server.era === 'modern'
  if (id === undefined) return new Response(null, { status: 202 })
  if (method === 'server/discover') {
    if (isModern)
      return reply({
        resultType: 'complete',
        supportedVersions: ['2026-07-28'],
        capabilities: { tools: {}, resources: {} },
      })
    return server.era === 'lenient'
      ? reply({})
      : json({ jsonrpc: '2.0', id, error: { code: -32_601, message: 'unknown' } }, 404)
  }
  if (method === 'initialize')
    return reply(
      { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 's', version: '1' } },
      { 'mcp-session-id': `session-${++sessions}` },
    )
  if (server.era === 'legacy' && request.headers.get('mcp-session-id') !== `session-${sessions}`)
    return json({ jsonrpc: '2.0', id, error: { code: -32_000, message: 'no such session' } }, 404)
  if (method === 'tools/list') return reply({ tools: server.tools, ...(isModern && { resultType: 'complete' }) })
  if (method === 'resources/list') return reply({ resources: [{ uri: 'note://1', name: 'One' }] })
  if (method !== 'tools/call') return json({ jsonrpc: '2.0', id, error: { code: -32_601, message: 'unknown' } }, 404)
  const result = await server.answer(
    String(params['name']),
    (params['arguments'] ?? {}) as Record<string, unknown>,
    request.signal,
  )
  return result instanceof Response ? result : reply(result)
}

/** Ends all legacy sessions, as a restart of the server does. */
export const forgetSessions = (): number => ++sessions
