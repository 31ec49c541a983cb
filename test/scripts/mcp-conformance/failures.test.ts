/** Tests what a server may answer instead of an answer: each failure is one in words, of the kind that decides what follows. */

import { describe, expect, it } from 'vitest'
import { type McpEndpoint, McpFailure, type McpFailureKind, openPeer, request } from '#durable/tenant/mcp/mcp-client.ts'
import { provideScheduler } from './scheduler.ts'

provideScheduler()
type Sent = { readonly id: number; readonly method: string }
type Answer = (sent: Sent) => Response | Promise<Response>

/** A server whose answers are written by hand. */
function serve(answer: Answer) {
  const asked: string[] = []
  const endpoint: McpEndpoint = {
    url: 'https://mcp.example.com/mcp',
    transport: 'http',
    headers: {},
    isTrustedAddress: false,
    guardedFetch: async ({ url, body }) => {
      const sent = JSON.parse(String(body)) as Sent
      asked.push(sent.method)
      return { response: await answer(sent), url: String(url) }
    },
  }
  return { asked, endpoint }
}

const modern = { era: 'modern', version: '2026-07-28' } as const
const call = { method: 'tools/call', params: { name: 'echo', arguments: {} } }
const json = (value: unknown, status = 200) => Response.json(value, { status })
const answered = ({ id }: Sent, text = 'ok') => ({ jsonrpc: '2.0', id, result: { content: [{ type: 'text', text }] } })
const failed = ({ id }: Sent, code: number, message = 'no') => ({ jsonrpc: '2.0', id, error: { code, message } })
const page = (status: number) => new Response('<html><h1>Not <b>here</b></h1></html>', { status })

/** An event stream of these pieces. */
function stream(...pieces: readonly string[]): Response {
  const bytes = new TextEncoder()
  const body = new ReadableStream({
    start(out) {
      for (const piece of pieces) out.enqueue(bytes.encode(piece))
      out.close()
    },
  })
  return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
}
const event = (value: unknown) => `data: ${JSON.stringify(value)}\n\n`

describe('a call', () => {
  it.each<[string, Answer, McpFailureKind, RegExp]>([
    ['a page with status 400', () => page(400), 'stale', /status 400: Not here$/],
    ['a page with status 404', () => page(404), 'stale', /status 404/],
    ['status 413', () => page(413), 'stale', /status 413/],
    ['status 429', () => page(429), 'transport', /status 429/],
    ['status 503', () => page(503), 'transport', /status 503/],
    ['a page with status 200', () => page(200), 'transport', /a page .* Check its address\. The page: Not here$/],
    ['nothing', () => new Response(''), 'transport', /with nothing/],
    ['JSON that ends in the middle', () => new Response('{"jsonrpc":"2.0","id":'), 'transport', /not JSON: \{"jsonrpc/],
    ['JSON of something else', () => json({ ok: true }), 'transport', /no message of MCP: \{"ok":true/],
    ['the answer to another request', (sent) => json({ ...answered(sent), id: sent.id + 1 }), 'transport', /another/],
    ['an answer without a result', ({ id }) => json({ jsonrpc: '2.0', id }), 'transport', /without a result/],
    ['a result that is null', ({ id }) => json({ jsonrpc: '2.0', id, result: null }), 'transport', /without a result/],
    ['a result that is text', ({ id }) => json({ jsonrpc: '2.0', id, result: 'x' }), 'transport', /without a result/],
    ['an error that is text', ({ id }) => json({ jsonrpc: '2.0', id, error: 'full' }), 'rpc', /^full$/],
    ['401 without a challenge', () => new Response('', { status: 401 }), 'auth', /refuses the credentials/],
    ['403', () => json({ error: 'forbidden' }, 403), 'auth', /refuses the credentials/],
    ['a redirect', () => Response.redirect('https://other.example.com/', 307), 'transport', /redirects/],
    ['another version', (sent) => json(failed(sent, -32_022), 400), 'stale', /no/],
    ['a header that differs', (sent) => json(failed(sent, -32_020), 400), 'stale', /no/],
    ['a tool that is gone', (sent) => json(failed(sent, -32_602, 'Unknown tool'), 400), 'rpc', /Unknown tool/],
    ['an error without words', (sent) => json({ ...failed(sent, -32_603), error: {} }), 'rpc', /gave no reason/],
    ['a stream that ends before its answer', () => stream(': hello\n\n'), 'transport', /before its answer/],
    [
      'a stream of something else',
      () => stream(event({ jsonrpc: '2.0', method: 'x' })),
      'transport',
      /before its answer/,
    ],
    [
      'a host that is not found',
      () => Promise.reject(new Error('internal error; reference = abc')),
      'transport',
      /check its address/,
    ],
    [
      'a certificate that is wrong',
      () => Promise.reject(new Error('TLS peer certificate is not trusted')),
      'transport',
      /cannot be reached: TLS peer certificate/,
    ],
    [
      'silence',
      () => Promise.reject(Object.assign(new Error('late'), { name: 'TimeoutError' })),
      'transport',
      /did not answer in time/,
    ],
    [
      'more than 8 MB',
      () => Promise.reject(Object.assign(new Error('The answer is too large.'), { name: 'ResponseTooLarge' })),
      'too-large',
      /larger than 8 MiB/,
    ],
  ])('that gets %s fails, and is made once', async (_, answer, kind, reason) => {
    const { endpoint, asked } = serve(answer)
    const error: unknown = await request(endpoint, modern, call, { timeoutMs: 1_000 }).catch(
      (failure: unknown) => failure,
    )
    expect(error).toBeInstanceOf(McpFailure)
    expect((error as McpFailure).kind).toBe(kind)
    expect((error as McpFailure).message).toMatch(reason)
    expect(asked).toEqual(['tools/call'])
  })

  it.each<[string, Answer]>([
    ['with its id as text', (sent) => json({ ...answered(sent), id: String(sent.id) })],
    ['in a batch', (sent) => json([{ jsonrpc: '2.0', method: 'x' }, answered(sent)])],
    ['twice', (sent) => stream(event(answered(sent)), event(answered(sent, 'again')))],
    [
      'after the answer to another request',
      (sent) => stream(event({ ...answered(sent, 'other'), id: 0 }), event(answered(sent))),
    ],
    ['in pieces', (sent) => stream(...event(answered(sent)).match(/[\s\S]{1,7}/g)!)],
    ['before more that never ends', (sent) => stream(event(answered(sent)), 'data: {"jsonrpc"')],
  ])('takes an answer that comes %s', async (_, answer) => {
    const { endpoint, asked } = serve(answer)
    expect(await request(endpoint, modern, call, { timeoutMs: 1_000 })).toEqual({
      content: [{ type: 'text', text: 'ok' }],
    })
    expect(asked).toEqual(['tools/call'])
  })
})

describe('a connection', () => {
  it('to a server that says it is modern and calls itself legacy fails as stale, so that it is probed again', async () => {
    const { endpoint } = serve((sent) =>
      sent.method === 'server/discover'
        ? json({
            jsonrpc: '2.0',
            id: sent.id,
            result: { supportedVersions: ['2026-07-28'], capabilities: { tools: {} } },
          })
        : json(failed(sent, -32_022), 400),
    )
    const { peer } = await openPeer(endpoint, { timeoutMs: 1_000 })
    expect(peer.era).toBe('modern')
    await expect(request(endpoint, peer, call, { timeoutMs: 1_000 })).rejects.toMatchObject({ kind: 'stale' })
  })

  it.each<[string, Answer, RegExp]>([
    ['pages', () => page(200), /a page .*Not here$/],
    ['pages that are not found', () => page(404), /status 404/],
    [
      'a version of no time',
      (sent) => json({ jsonrpc: '2.0', id: sent.id, result: { protocolVersion: '1999-01-01', supportedVersions: [] } }),
      /no version in common/,
    ],
  ])('to a host that answers with %s fails in words', async (_, answer, reason) => {
    const { endpoint } = serve(answer)
    await expect(openPeer(endpoint, { timeoutMs: 1_000 })).rejects.toThrow(reason)
  })

  it('is made by a stream that stays open behind each answer', async () => {
    const { endpoint } = serve((sent) => {
      if (sent.method === 'notifications/initialized') return new Response(null, { status: 202 })
      const result = { protocolVersion: '2025-11-25', capabilities: {} }
      const answer = sent.method === 'initialize' ? { jsonrpc: '2.0', id: sent.id, result } : failed(sent, -32_601)
      const open = new ReadableStream({ start: (out) => out.enqueue(new TextEncoder().encode(event(answer))) })
      return new Response(open, { headers: { 'content-type': 'text/event-stream' } })
    })
    expect((await openPeer(endpoint, { timeoutMs: 1_000 })).peer.era).toBe('legacy')
  })

  it('opens a legacy session once more when the server has forgotten it, and no third time', async () => {
    let sessions = 0
    const { endpoint, asked } = serve((sent) => {
      if (sent.method === 'initialize') {
        const result = { protocolVersion: '2025-11-25', capabilities: {} }
        return Response.json(
          { jsonrpc: '2.0', id: sent.id, result },
          { headers: { 'mcp-session-id': `s${++sessions}` } },
        )
      }
      return sent.method === 'notifications/initialized' ? new Response(null, { status: 202 }) : page(404)
    })
    const peer = { era: 'legacy', version: '2025-11-25', sessionId: 's0' } as const
    await expect(request(endpoint, { ...peer }, call, { timeoutMs: 1_000 })).rejects.toThrow(/status 404/)
    expect(asked).toEqual(['tools/call', 'initialize', 'notifications/initialized', 'tools/call'])
  })
})
