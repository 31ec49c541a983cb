/** Starts and kills a server with a scripted model, and checks the turns that it resumes. */

import { afterAll, expect } from 'vitest'
import { startModelServer } from '../../support/model-server/server.ts'
import { type Client, createClient, eventually, type Message } from './client.ts'
import { deleteState, newState, type Server, startServer } from './server.ts'
import { modelSettings } from './shared.ts'
import { isRunEnd, subscribe, type Subscriber } from './sse.ts'

/** The promise: a turn ends within this time after the runtime is back, without any request. */
export const patienceMs = 20_000

export const model = await startModelServer()
const state = newState()
const running = new Set<Server>()

export const start = async (env: Record<string, string> = {}, port?: number): Promise<Server> => {
  const server = await startServer({ state, env: { ...modelSettings(model.url), ...env }, ...(port && { port }) })
  running.add(server)
  return server
}
export const kill = async (server: Server): Promise<void> => {
  await server.kill()
  running.delete(server)
}
afterAll(async () => {
  for (const server of running) await server.kill()
  await model.close()
  deleteState(state)
})

export const clientTo = (server: Server): Client => createClient(server.url, server.key)
const follow = ({ url, key }: Server, session: string, after?: number): Promise<Subscriber> =>
  subscribe({ url, key, path: `/api/sessions/${session}/events`, ...(after !== undefined && { after }) })

const answersTo = (nonce: string): number =>
  model.journal().filter((entry) => entry.nonce === nonce && entry.status === 200 && !entry.cut && entry.ended).length

/** The model has given its last answer and history knows the turn, and nobody asks for the session meanwhile. */
export const untilAnswered = async (back: Server, session: string, { nonce, answers }: Answered): Promise<void> => {
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

export type Begun = { readonly session: string; readonly listener: Subscriber; readonly chat: Promise<unknown> }

export async function begin(server: Server, input: string): Promise<Begun> {
  const session = await clientTo(server).newSession()
  const listener = await follow(server, session)
  const chat = clientTo(server)
    .chat(session, input)
    .catch(() => undefined)
  return { session, listener, chat }
}

/** The listener goes on where it was, and in the end knows everything that the session remembers. */
export async function expectComplete(back: Server, { session, listener }: Begun): Promise<void> {
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

export const rolesOf = (messages: readonly Message[]) => messages.map(({ role }) => role)

/** What the file says of how often it ran, and what the model was told. */
export async function written(client: Client, session: string): Promise<string> {
  const messages = await client.messages(session)
  expect(rolesOf(messages)).toEqual(['user', 'assistant', 'tool', 'assistant'])
  const file = await client.get(`/api/sessions/${session}/files/log`)
  const times = file.status === 200 ? file.text.split('\n').filter(Boolean).length : 0
  return `${times} times, told as ${/unknown|interrupted/i.test(messages[2]?.content ?? '') ? 'unknown' : 'done'}`
}
export const once = /^1 times, told as done$/
export const onceOrUnknown = /^(1 times, told as done|[01] times, told as unknown)$/
export const writes = (nonce: string) =>
  `[[call terminal {"command":"echo x >> log"} then text 8]] [[slow gap=20 nonce=${nonce}]]`
