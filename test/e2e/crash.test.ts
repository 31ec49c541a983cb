import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type ModelServer, startModelServer } from '../support/model-server/server.ts'
import { type Client, clientOf, eventually, type Message } from './support/client.ts'
import { dropState, newState, type Server, startServer } from './support/server.ts'
import { modelSettings } from './support/shared.ts'
import { isEnd, listen, type Listener } from './support/sse.ts'

/** The promise: a turn ends within this time after the runtime is back, without any request. */
const patienceMs = 20_000

describe('the whole system is killed', () => {
  const state = newState()
  let model: ModelServer
  let server: Server | undefined
  beforeAll(async () => {
    model = await startModelServer()
  })
  beforeEach(() => model.reset())
  afterAll(async () => {
    await server?.kill()
    await model.close()
    dropState(state)
  })

  const start = async (env: Record<string, string> = {}): Promise<Server> => {
    server = await startServer({ state, env: { ...modelSettings(model.url), ...env } })
    return server
  }
  const follow = (at: Server, session: string, after?: number) =>
    listen({
      url: at.url,
      key: at.key,
      path: `/api/sessions/${session}/events`,
      ...(after !== undefined && { after }),
    })

  /** Says it, waits until the world is at the place, and kills everything. */
  async function killedAt(first: Server, input: string, place: (listener: Listener) => Promise<unknown>) {
    const client = clientOf(first.url, first.key)
    const session = await client.newSession()
    const listener = await follow(first, session)
    const chat = client.chat(session, input).catch(() => undefined)
    await place(listener)
    const deltas = listener.events.length
    await first.kill()
    await chat
    await eventually(listener.ended, Boolean)
    return { session, listener, deltas }
  }

  /** Nobody asks for the session until its time is over or the model has given the last answer. */
  async function backAlone(second: Server, answers: number) {
    const answered = () => model.journal().filter(({ status, cut, ended }) => status === 200 && !cut && ended).length
    await eventually(answered, (count) => count >= answers, patienceMs)
    await new Promise((resolve) => setTimeout(resolve, 1_000))
  }

  async function expectComplete(second: Server, session: string, listener: Listener) {
    const askedAt = Date.now()
    await listener.reconnect(second.url)
    const end = await listener.until(isEnd)
    expect(end).toMatchObject({ type: 'run.completed', data: { completed: true } })
    expect(Date.parse(end.data.at)).toBeLessThan(askedAt)
    expect(Date.parse(end.data.at)).toBeLessThan(second.readyAt + patienceMs)
    const replay = await follow(second, session, 0)
    await replay.until(isEnd)
    replay.close()
    listener.close()
    // After a death the numbers go on with a jump: what was said but not saved keeps its number for itself.
    const ids = listener.events.map(({ id }) => id ?? 0)
    expect(ids).toEqual([...new Set(ids)].toSorted((a, b) => a - b))
    const heard = new Set(ids)
    expect(replay.events.filter(({ id }) => !heard.has(id)).map(({ id, type }) => `${id} ${type}`)).toEqual([])
    expect(said(listener)).toBe(end.data.output)
  }

  /** The text of the last answer, as a client puts it together: an answer that was given up does not count. */
  function said(listener: Listener): string {
    let text = ''
    for (const { type, data } of listener.events) {
      if (type === 'turn.restarted' || type === 'tool.started' || type === 'run.started') text = ''
      if (type === 'message.delta') text += data.delta
    }
    return text
  }

  const writes = '[[call terminal {"command":"echo x >> log"} then text 8]] [[slow gap=20]]'
  const rolesOf = (messages: readonly Message[]) => messages.map(({ role }) => role)

  /** Ran once and says so, or is told as unknown; never twice, never silently lost. */
  async function expectWrittenOnce(client: Client, session: string, allowed: RegExp) {
    const messages = await client.messages(session)
    expect(rolesOf(messages)).toEqual(['user', 'assistant', 'tool', 'assistant'])
    const file = await client.get(`/api/sessions/${session}/files/log`)
    const times = file.status === 200 ? file.text.split('\n').filter(Boolean).length : 0
    const told = /unknown|interrupted/i.test(messages[2]?.content ?? '') ? 'unknown' : 'done'
    expect(`${times} times, told as ${told}`).toMatch(allowed)
  }
  const once = /^1 times, told as done$/
  const onceOrUnknown = /^(1 times, told as done|[01] times, told as unknown)$/

  it.each([
    { name: 'before-model', answers: 2, allowed: once },
    { name: 'before-tool', answers: 2, allowed: onceOrUnknown },
    { name: 'during-tool', answers: 2, allowed: onceOrUnknown },
    { name: 'after-tool', answers: 2, allowed: onceOrUnknown },
    { name: 'before-final', answers: 3, allowed: once },
  ])('at $name, and goes on by itself', async ({ name, answers, allowed }) => {
    const first = await start({ FAILPOINTS: `${name}=hang@1` })
    const { session, listener } = await killedAt(first, writes, () => first.printed(`FP:${name}`))
    const second = await start()
    await backAlone(second, answers)
    await expectComplete(second, session, listener)
    await expectWrittenOnce(clientOf(second.url, second.key), session, allowed)
    expect(second.log()).not.toContain('ERROR')
  })

  it('in the middle of an answer, and gives one answer', async () => {
    const first = await start()
    const input = '[[slow gap=40 chunks=50]]'
    const { session, listener, deltas } = await killedAt(first, input, (heard) =>
      heard.until(({ type, id = 0 }) => type === 'message.delta' && id > 8),
    )
    expect(deltas).toBeGreaterThan(5)
    const second = await start()
    await backAlone(second, 1)
    await expectComplete(second, session, listener)
    const messages = await clientOf(second.url, second.key).messages(session)
    expect(rolesOf(messages)).toEqual(['user', 'assistant'])
    expect(messages[1]?.content?.trim().split(' ')).toEqual(Array.from({ length: 50 }, (_, n) => `word${n}`))
  })

  it('while the model says nothing, three times in a row', async () => {
    const silent = (): void => model.script(() => ({ hang: true }))
    silent()
    const { session, listener } = await killedAt(await start(), '[[text 6]]', () =>
      eventually(
        () => model.journal().length,
        (count) => count === 1,
      ),
    )
    for (let again = 2; again <= 3; again++) {
      const next = await start()
      await eventually(
        () => model.journal().length,
        (count) => count >= again,
        patienceMs,
      )
      await next.kill()
    }
    model.script(undefined)
    const last = await start()
    await backAlone(last, 1)
    await expectComplete(last, session, listener)
    expect(rolesOf(await clientOf(last.url, last.key).messages(session))).toEqual(['user', 'assistant'])
  })

  it('in its runtime alone, and wrangler brings it back', async () => {
    const first = await start()
    const client = clientOf(first.url, first.key)
    const session = await client.newSession()
    const listener = await follow(first, session)
    const chat = client.chat(session, writes).catch(() => undefined)
    await listener.until(({ type }) => type === 'message.delta')
    first.killRuntime()
    await chat
    await eventually(listener.ended, Boolean)
    await backAlone({ ...first, readyAt: Date.now() }, 2)
    await eventually(
      async () => (await client.post('/api/sessions', {}).catch(() => undefined))?.status,
      (status) => status === 201,
    )
    await listener.reconnect()
    expect((await listener.until(isEnd)).type).toBe('run.completed')
    await expectWrittenOnce(client, session, onceOrUnknown)
    listener.close()
  })

  it('with an accepted message nobody waits for', async () => {
    const first = await start()
    const client = clientOf(first.url, first.key)
    const session = await client.newSession()
    const input = '[[slow ttft=2000 chunks=3]]'
    const accepted = await client.post(`/api/sessions/${session}/steer`, { input })
    expect(accepted.status).toBe(202)
    await first.kill()
    const second = await start()
    await backAlone(second, 1)
    const messages = await clientOf(second.url, second.key).messages(session)
    expect(messages.map(({ role, content }) => [role, content?.trim()])).toEqual([
      ['user', input],
      ['assistant', 'word0 word1 word2'],
    ])
  })
})
