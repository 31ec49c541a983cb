/** Tests that turns of a killed server end after its restart, without any request. */

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { startModelServer } from '../support/model-server/server.ts'
import { type Client, createClient, eventually, type Message } from './support/client.ts'
import { deleteState, newState, type Server, startServer } from './support/server.ts'
import { modelSettings } from './support/shared.ts'
import { isRunEnd, subscribe, type Subscriber } from './support/sse.ts'

/** The promise: a turn ends within this time after the runtime is back, without any request. */
const patienceMs = 20_000

const model = await startModelServer()
const state = newState()
const running = new Set<Server>()

const start = async (env: Record<string, string> = {}): Promise<Server> => {
  const server = await startServer({ state, env: { ...modelSettings(model.url), ...env } })
  running.add(server)
  return server
}
const kill = async (server: Server): Promise<void> => {
  await server.kill()
  running.delete(server)
}
afterAll(async () => {
  for (const server of running) await server.kill()
  await model.close()
  deleteState(state)
})

const clientTo = (server: Server): Client => createClient(server.url, server.key)
const follow = ({ url, key }: Server, session: string, after?: number): Promise<Subscriber> =>
  subscribe({ url, key, path: `/api/sessions/${session}/events`, ...(after !== undefined && { after }) })

const answersTo = (nonce: string): number =>
  model.journal().filter((entry) => entry.nonce === nonce && entry.status === 200 && !entry.cut && entry.ended).length

/** The model has given its last answer and history knows the turn, and nobody asks for the session meanwhile. */
const untilAnswered = async (back: Server, session: string, { nonce, answers }: Answered): Promise<void> => {
  await eventually(
    () => answersTo(nonce),
    (count) => count >= answers,
    patienceMs,
  )
  await eventually(
    async () =>
      (
        await clientTo(back)
          .get('/api/usage?group=session&limit=200')
          .catch(() => undefined)
      )?.json?.data,
    (lines: readonly { key: string }[] = []) => lines.some(({ key }) => key === session),
    patienceMs,
  )
}
type Answered = { readonly nonce: string; readonly answers: number }

type Begun = { readonly session: string; readonly listener: Subscriber; readonly chat: Promise<unknown> }

async function begin(server: Server, input: string): Promise<Begun> {
  const session = await clientTo(server).newSession()
  const listener = await follow(server, session)
  const chat = clientTo(server)
    .chat(session, input)
    .catch(() => undefined)
  return { session, listener, chat }
}

/** The listener goes on where it was, and in the end knows everything that the session remembers. */
async function expectComplete(back: Server, { session, listener }: Begun): Promise<void> {
  const askedAt = Date.now()
  await listener.reconnect(back.url)
  const end = await listener.until(isRunEnd)
  expect(end).toMatchObject({ type: 'run.completed', data: { completed: true } })
  expect(Date.parse(end.data.at)).toBeLessThan(askedAt)
  expect(Date.parse(end.data.at)).toBeLessThan(back.readyAt + patienceMs)
  const replay = await follow(back, session, 0)
  await replay.until(isRunEnd)
  replay.close()
  listener.close()
  // After a death the numbers go on with a jump: what was said but not saved keeps its number for itself.
  const ids = listener.events.map(({ id }) => id ?? 0)
  expect(ids).toEqual([...new Set(ids)].toSorted((a, b) => a - b))
  const heard = new Set(ids)
  expect(replay.events.filter(({ id }) => !heard.has(id ?? 0))).toEqual([])
  expect(said(listener)).toBe(end.data.output)
}

/** The text of the last answer, as a client puts it together: an answer that was given up does not count. */
function said({ events }: Subscriber): string {
  let text = ''
  for (const { type, data } of events) {
    if (type === 'turn.restarted' || type === 'tool.started' || type === 'run.started') text = ''
    if (type === 'message.delta') text += data.delta
  }
  return text
}

const rolesOf = (messages: readonly Message[]) => messages.map(({ role }) => role)

/** What the file says of how often it ran, and what the model was told. */
async function written(client: Client, session: string): Promise<string> {
  const messages = await client.messages(session)
  expect(rolesOf(messages)).toEqual(['user', 'assistant', 'tool', 'assistant'])
  const file = await client.get(`/api/sessions/${session}/files/log`)
  const times = file.status === 200 ? file.text.split('\n').filter(Boolean).length : 0
  return `${times} times, told as ${/unknown|interrupted/i.test(messages[2]?.content ?? '') ? 'unknown' : 'done'}`
}
const once = /^1 times, told as done$/
const onceOrUnknown = /^(1 times, told as done|[01] times, told as unknown)$/
const writes = (nonce: string) =>
  `[[call terminal {"command":"echo x >> log"} then text 8]] [[slow gap=20 nonce=${nonce}]]`

describe('a server killed with a turn at every failpoint', () => {
  const places = [
    { place: 'before-model', answers: 2, allowed: once },
    { place: 'before-tool', answers: 2, allowed: onceOrUnknown },
    { place: 'during-tool', answers: 2, allowed: onceOrUnknown },
    { place: 'after-tool', answers: 2, allowed: onceOrUnknown },
    { place: 'before-final', answers: 3, allowed: once },
  ]
  const turns = new Map<string, Begun>()
  const later = '[[slow ttft=3000 chunks=3 nonce=later]]'
  let waiting: string
  let accepted: number
  let back: Server

  beforeAll(async () => {
    const first = await start({ FAILPOINTS: places.map(({ place }) => `${place}=hang@1`).join(',') })
    // Each stops at the first failpoint that none before it has used up.
    for (const { place } of places) {
      turns.set(place, await begin(first, writes(place)))
      await first.printed(`FP:${place}`)
    }
    const talking = await begin(first, '[[slow gap=40 chunks=60 nonce=mid-stream]]')
    turns.set('mid-stream', talking)
    await talking.listener.until(({ type, id = 0 }) => type === 'message.delta' && id > 8)
    waiting = await clientTo(first).newSession()
    accepted = (await clientTo(first).post(`/api/sessions/${waiting}/steer`, { input: later })).status
    await kill(first)
    for (const { chat, listener } of turns.values()) {
      await chat
      await eventually(listener.ended, Boolean)
    }
    back = await start()
  }, 120_000)
  afterAll(() => kill(back))

  it.each(places)('$place: goes on by itself, and writes once', async ({ place, answers, allowed }) => {
    const turn = turns.get(place) as Begun
    await untilAnswered(back, turn.session, { nonce: place, answers })
    await expectComplete(back, turn)
    expect(await written(clientTo(back), turn.session)).toMatch(allowed)
  })

  it('in the middle of an answer: the session has one answer', async () => {
    const turn = turns.get('mid-stream') as Begun
    expect(turn.listener.events.length).toBeGreaterThan(5)
    await untilAnswered(back, turn.session, { nonce: 'mid-stream', answers: 1 })
    await expectComplete(back, turn)
    const messages = await clientTo(back).messages(turn.session)
    expect(rolesOf(messages)).toEqual(['user', 'assistant'])
    expect(messages[1]?.content?.trim().split(' ')).toEqual(Array.from({ length: 60 }, (_, n) => `word${n}`))
  })

  it('after accepting a message without an open request: it is answered', async () => {
    expect(accepted).toBe(202)
    await untilAnswered(back, waiting, { nonce: 'later', answers: 1 })
    const messages = await clientTo(back).messages(waiting)
    expect(messages.map(({ role, content }) => [role, content?.trim()])).toEqual([
      ['user', later],
      ['assistant', 'word0 word1 word2'],
    ])
  })

  it('logs no error on the way back', () => {
    expect(back.log()).not.toMatch(/ERROR|Unexpected error|Uncaught/)
  })
})

describe('killed again and again', () => {
  beforeEach(() => model.reset())

  it('while the model does not answer, twice in a row', async () => {
    model.script(() => ({ hang: true }))
    const asked = (count: number) =>
      eventually(
        () => model.journal().length,
        (length) => length >= count,
        patienceMs,
      )
    const first = await start()
    const turn = await begin(first, '[[slow gap=1 chunks=6 nonce=silence]]')
    await asked(1)
    await kill(first)
    await turn.chat
    await eventually(turn.listener.ended, Boolean)
    const next = await start()
    await asked(2)
    await kill(next)
    model.script(undefined)
    const last = await start()
    await untilAnswered(last, turn.session, { nonce: 'silence', answers: 1 })
    await expectComplete(last, turn)
    expect(rolesOf(await clientTo(last).messages(turn.session))).toEqual(['user', 'assistant'])
    await kill(last)
  }, 150_000)

  it('only the runtime, which wrangler restarts', async () => {
    const server = await start()
    const client = clientTo(server)
    const { session, listener, chat } = await begin(server, writes('runtime'))
    await listener.until(({ type }) => type === 'message.delta')
    server.killRuntime()
    await chat
    await eventually(listener.ended, Boolean)
    await untilAnswered(server, session, { nonce: 'runtime', answers: 2 })
    await eventually(
      async () => (await client.post('/api/sessions', {}).catch(() => undefined))?.status,
      (status) => status === 201,
    )
    await listener.reconnect()
    expect((await listener.until(isRunEnd)).type).toBe('run.completed')
    listener.close()
    expect(await written(client, session)).toMatch(onceOrUnknown)
  })
})
