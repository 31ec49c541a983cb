/** Tests server-sent events and WebSockets of a real server. */

import { describe, expect, it } from 'vitest'
import { type Client, eventually } from './support/client.ts'
import { createTenant, listModelRequests, owner, server } from './support/here.ts'
import { type ReceivedEvent, isRunEnd, subscribe } from './support/sse.ts'

const input = '[[call write_file {"path":"a.txt","content":"x"} then text 12]] [[slow gap=15]]'
const target = (session: string, after?: number) => ({
  url: server.url,
  key: server.key,
  path: `/api/sessions/${session}/events`,
  ...(after !== undefined && { after }),
})
type Tenant = Awaited<ReturnType<typeof createTenant>>
const plain = (events: readonly ReceivedEvent[]) => events.map(({ id, type, data }) => ({ id, type, data }))

describe('server-sent events', () => {
  it('describe a run from start to end, each with a number and its ids', async () => {
    const session = await owner.newSession()
    const listener = await subscribe(target(session))
    await owner.chat(session, input)
    await listener.until(isRunEnd)
    listener.close()
    const types = listener.events.map(({ type }) => type)
    expect(types[0]).toBe('run.started')
    expect(types).toContain('tool.started')
    expect(types).toContain('tool.completed')
    expect(types.at(-1)).toBe('run.completed')
    for (const { id, type, data } of listener.events) {
      expect(data).toMatchObject({ type, seq: id, session_id: session })
      expect(data.run_id).toMatch(/^run_/)
      expect(Number.isNaN(Date.parse(data.at))).toBe(false)
    }
    const ids = listener.events.map(({ id }) => id ?? 0)
    expect(ids).toEqual(Array.from(ids, (_, n) => (ids[0] ?? 0) + n))
    const text = listener.events.filter(({ type }) => type === 'message.delta').map(({ data }) => data.delta)
    expect(listener.events.at(-1)?.data).toMatchObject({
      output: text.join(''),
      completed: true,
      usage: { input: expect.any(Number), output: expect.any(Number), cost_status: expect.any(String) },
    })
  })

  it('resume after Last-Event-ID without gaps or repeats, after every disconnect', async () => {
    const session = await owner.newSession()
    const whole = await subscribe(target(session))
    const broken = await subscribe(target(session))
    const chat = owner.chat(session, '[[slow gap=25 chunks=60]]')
    for (let cuts = 0; cuts < 4; cuts++) {
      const seen = broken.events.length
      await eventually(
        () => broken.events.length,
        (count) => count > seen + 3 || whole.events.some(isRunEnd),
      )
      broken.close()
      await eventually(broken.ended, Boolean)
      await broken.reconnect()
    }
    await chat
    await whole.until(isRunEnd)
    await broken.until(isRunEnd)
    expect(plain(broken.events)).toEqual(plain(whole.events))
    const late = await subscribe(target(session, 0))
    await late.until(isRunEnd)
    expect(plain(late.events)).toEqual(plain(whole.events))
    for (const listener of [whole, broken, late]) listener.close()
  })

  it('are the response of chat/stream, up to the end of its run', async () => {
    const session = await owner.newSession()
    const path = `/api/sessions/${session}/chat/stream`
    const listener = await subscribe({ url: server.url, key: server.key, path, body: { input } })
    await listener.until(isRunEnd)
    await eventually(listener.ended, Boolean)
    expect(listener.events.at(-1)?.type).toBe('run.completed')
    expect(new Set(listener.events.map(({ data }) => data.run_id)).size).toBe(1)
  })

  it('confirm the connection before any event', async () => {
    const session = await owner.newSession()
    const listener = await subscribe(target(session))
    await eventually(
      () => listener.comments.length,
      (count) => count > 0,
      5_000,
    )
    expect(listener.status()).toBe(200)
    listener.close()
  })
})

describe('a WebSocket', () => {
  it('sends the same events as server-sent events', async () => {
    const session = await owner.newSession()
    const listener = await subscribe(target(session))
    const heard: { seq: number; type: string }[] = []
    const socket = new WebSocket(`${server.url.replace('http', 'ws')}/api/sessions/${session}/events`, {
      headers: { authorization: `Bearer ${server.key}` },
    } as unknown as string[])
    socket.addEventListener('message', ({ data }) => heard.push(JSON.parse(String(data))))
    await new Promise((resolve, reject) => {
      socket.addEventListener('open', resolve)
      socket.addEventListener('error', () => reject(new Error('the socket was refused')))
    })
    await owner.chat(session, input)
    await listener.until(isRunEnd)
    await eventually(
      () => heard.length,
      (count) => count === listener.events.length,
    )
    expect(heard).toEqual(listener.events.map(({ data }) => data))
    socket.close()
    listener.close()
  })

  it('is refused to another tenant', async () => {
    const session = await owner.newSession()
    const { key } = await createTenant()
    const socket = new WebSocket(`${server.url.replace('http', 'ws')}/api/sessions/${session}/events`, {
      headers: { authorization: `Bearer ${key}` },
    } as unknown as string[])
    const opened = await new Promise((resolve) => {
      socket.addEventListener('open', () => resolve(true))
      socket.addEventListener('error', () => resolve(false))
    })
    expect(opened).toBe(false)
  })
})

describe('a turn that runs', () => {
  it('can be stopped and keeps its text so far', async () => {
    const session = await owner.newSession()
    const listener = await subscribe(target(session))
    const chat = owner.chat(session, '[[slow gap=50 chunks=400]]')
    await listener.until(({ type }) => type === 'message.delta')
    expect((await owner.post(`/api/sessions/${session}/stop`)).status).toBe(202)
    const end = await listener.until(isRunEnd)
    expect(end.type).toBe('run.cancelled')
    expect((await chat).json.status).toBe('cancelled')
    listener.close()
    expect((await owner.chat(session, '[[say next]]')).json.output).toBe('next')
  })

  it('can be steered between two steps', async () => {
    const session = await owner.newSession()
    const listener = await subscribe(target(session))
    const calls = '[[tools 20 write_file {"path":"s$i.txt","content":"x"}]] [[slow gap=60]] [[say end]]'
    const chat = owner.chat(session, calls)
    await listener.until(({ type }) => type === 'tool.completed')
    const steered = await owner.post(`/api/sessions/${session}/steer`, { input: 'be quick about it' })
    expect(steered.status).toBe(202)
    await listener.until(({ type }) => type === 'run.steered')
    expect((await chat).json.completed).toBe(true)
    listener.close()
    expect(JSON.stringify(await owner.messages(session))).toContain('be quick about it')
  })
})

describe('a tenant or key that may act no more', () => {
  /** A stream and a turn that runs for a minute, with how they end. */
  async function run(client: Client) {
    const session = await client.newSession()
    const open = async (path: string, body?: object) => {
      const response = await fetch(`${server.url}${path}`, {
        method: body ? 'POST' : 'GET',
        headers: { authorization: `Bearer ${client.key}`, 'content-type': 'application/json' },
        ...(body && { body: JSON.stringify(body) }),
      })
      let text = ''
      const ended = (async () => {
        for await (const piece of response.body!.pipeThrough(new TextDecoderStream())) text += piece
        return { text, at: Date.now() }
      })()
      return { ended, text: () => text }
    }
    const events = await open(`/api/sessions/${session}/events`)
    const nonce = crypto.randomUUID()
    const input = `[[tools 200 todo {"todos":[]}]] [[slow gap=100 chunks=600 nonce=${nonce}]]`
    const chat = await open(`/api/sessions/${session}/chat/stream`, { input })
    await eventually(chat.text, (text) => text.includes('tool.completed'))
    return { session, nonce, streams: [events, chat] }
  }

  it.each([
    [
      'key_revoked',
      'invalid_api_key',
      ({ key }: Tenant) => owner.send('DELETE', `/api/admin/keys/${key.split('_')[1]}`),
    ],
    [
      'tenant_suspended',
      'tenant_suspended',
      ({ id }: Tenant) => owner.send('PATCH', `/api/admin/tenants/${id}`, { body: { status: 'suspended' } }),
    ],
  ])('(%s): streams close within two seconds, and the turn stops', async (reason, code, stop) => {
    const tenant = await createTenant()
    const { session, nonce, streams } = await run(tenant.client)
    const at = Date.now()
    expect((await stop(tenant)).status).toBeLessThan(300)
    for (const { text, at: closedAt } of await Promise.all(streams.map(({ ended }) => ended))) {
      expect(closedAt - at).toBeLessThan(2_000)
      expect(text).toContain(`"code":"${code}"`)
    }
    const asked = (await listModelRequests(nonce)).length
    if (reason === 'tenant_suspended')
      await owner.send('PATCH', `/api/admin/tenants/${tenant.id}`, { body: { status: 'active' } })
    const other = await owner.post('/api/admin/keys', { tenant_id: tenant.id, scopes: ['read'] })
    const reader = owner.as(other.json.key)
    const [first] = await reader.messages(session)
    const runs = (await reader.get(`/api/sessions/${session}/runs/${(first as { run_id?: string })?.run_id}`)).json
    expect(runs).toMatchObject({ status: 'cancelled', exit_reason: reason })
    expect((await listModelRequests(nonce)).length).toBe(asked)
  })
})
