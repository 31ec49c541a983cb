/** Tests server-sent events and WebSockets of a real server. */

import { describe, expect, it } from 'vitest'
import { eventually } from './support/client.ts'
import { owner, server, createTenant } from './support/here.ts'
import { type ReceivedEvent, isRunEnd, subscribe } from './support/sse.ts'

const input = '[[call write_file {"path":"a.txt","content":"x"} then text 12]] [[slow gap=15]]'
const target = (session: string, after?: number) => ({
  url: server.url,
  key: server.key,
  path: `/api/sessions/${session}/events`,
  ...(after !== undefined && { after }),
})
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
