/** Routes of the floors: a bare proxy, bare requests, a minimal object that loops, and an empty D1 query. */

import { Hono } from 'hono'
import { LoopDO, type Env } from './loop.ts'

export { LoopDO }

const app = new Hono<{ Bindings: Env }>()

app.get('/health', (c) => c.json({ status: 'ok' }))

app.post('/proxy/v1/chat/completions', async (c) => {
  const answer = await fetch(`${c.env.MODEL_URL}/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: c.req.raw.body,
  })
  return new Response(answer.body, { headers: { 'content-type': 'text/event-stream' } })
})

app.post('/loop/v1/chat/completions', async (c) => {
  const id = c.req.header('x-talaria-session-id') ?? crypto.randomUUID()
  return c.env.LOOP.get(c.env.LOOP.idFromName(id)).fetch(
    new Request('http://loop/', {
      method: 'POST',
      headers: { 'x-talaria-session-id': id },
      body: c.req.raw.body,
    }),
  )
})

type Sent = { readonly headers: Readonly<Record<string, string>>; readonly body?: string }
type Fetches = {
  readonly url: string
  readonly call: Sent
  /** A stream that is open during each call, as the client of some MCP servers needs it. */
  readonly stream?: Sent
  readonly count: number
}

/** Sends the same request one time after the other, and reads each answer. The server notes when they arrive. */
app.post('/fetches', async (c) => {
  const { url, call, stream, count } = await c.req.json<Fetches>()
  let chars = 0
  for (let n = 0; n < count; n++) {
    const closing = new AbortController()
    if (stream) await fetch(url, { headers: stream.headers, signal: closing.signal })
    chars += (await (await fetch(url, { method: 'POST', ...call })).text()).length
    closing.abort()
  }
  return c.json({ chars })
})

app.get('/select1', async (c) => c.json(await c.env.DB.prepare('SELECT 1 AS one').first()))

export default app
