/** Routes of the floors: a bare proxy, a minimal object that loops, and an empty D1 query. */

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

app.get('/select1', async (c) => c.json(await c.env.DB.prepare('SELECT 1 AS one').first()))

export default app
