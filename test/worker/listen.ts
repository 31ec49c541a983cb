/** Somebody who listens: server-sent events or a WebSocket, as a growing list. */

import { until } from '../support/scripted-model.ts'
import { adminKey, call, request } from './client.ts'

export type Heard = {
  readonly seq: number
  readonly type: string
  readonly run_id: string
  readonly session_id: string
  readonly at: string
  readonly [more: string]: unknown
}

export class Listener {
  readonly events: Heard[] = []
  /** Comments and frames that are no JSON events of ours, as they came. */
  readonly frames: string[] = []
  isClosed = false
  error: unknown
  close: () => void = () => {}

  /** Waits until an event of this type has been heard (the nth of them). */
  heard(type: string, nth = 1): Promise<Heard> {
    return until(() => this.events.filter((event) => event.type === type)[nth - 1])
  }
  /** Waits for the event `status` of this state. */
  reached = (state: string): Promise<Heard> => until(() => this.events.find((event) => event['state'] === state))
  closed = () => until(() => this.isClosed)
  get types() {
    return this.events.map(({ type }) => type)
  }
  get numbers() {
    return this.events.map(({ seq }) => seq)
  }
}

/** The answer that a reader of these events puts together, who drops what was given up. */
export function textOf(events: readonly Heard[]): string {
  let deltas: { seq: number; delta: string }[] = []
  for (const event of events) {
    if (event.type === 'message.delta') deltas.push({ seq: event.seq, delta: String(event['delta']) })
    if (event.type === 'turn.restarted') deltas = deltas.filter(({ seq }) => seq <= Number(event['from_seq']))
  }
  return deltas.map(({ delta }) => delta).join('')
}

export function listenTo(response: Response): Listener {
  const listener = new Listener()
  const reader = (response.body ?? new ReadableStream()).getReader()
  // A stream that broke says so again to whoever leaves it.
  listener.close = () => void reader.cancel().catch(() => undefined)
  void read(reader, listener)
  return listener
}

async function read(reader: ReadableStreamDefaultReader<Uint8Array>, listener: Listener): Promise<void> {
  const decoder = new TextDecoder()
  let open = ''
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) break
      const frames = (open + decoder.decode(value, { stream: true })).split('\n\n')
      open = frames.pop() ?? ''
      for (const frame of frames) take(frame, listener)
    }
  } catch (error) {
    listener.error = error
  }
  listener.isClosed = true
}

function take(frame: string, { events, frames }: Listener) {
  frames.push(frame)
  const data = /^data: (.*)$/m.exec(frame)?.[1]
  const id = /^id: (\d+)$/m.exec(frame)?.[1]
  if (id === undefined || data === undefined) return
  const event = JSON.parse(data) as Heard
  if (event.seq !== Number(id)) throw new Error(`The frame ${id} has the event ${event.seq}.`)
  events.push(event)
}

/** `GET …/events`, from an event on or from now on. */
export async function listen(sessionId: string, after?: number, key = adminKey): Promise<Listener> {
  const headers: Record<string, string> = after === undefined ? {} : { 'last-event-id': String(after) }
  const response = await request('GET', `/api/sessions/${sessionId}/events`, { key, headers })
  if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`)
  const listener = listenTo(response)
  await until(() => listener.frames.length)
  return listener
}

/** The same over a WebSocket. */
export async function listenBySocket(sessionId: string, after?: number): Promise<Listener> {
  const query = after === undefined ? '' : `?after=${after}`
  const response = await request('GET', `/api/sessions/${sessionId}/events${query}`, {
    headers: { upgrade: 'websocket' },
  })
  const socket = response.webSocket
  if (!socket) throw new Error(`${response.status} ${await response.text()}`)
  const listener = new Listener()
  socket.addEventListener('message', ({ data }) => void listener.events.push(JSON.parse(String(data)) as Heard))
  socket.addEventListener('close', () => void (listener.isClosed = true))
  listener.close = () => socket.close(1000)
  socket.accept()
  return listener
}

/** Says something and follows the run by its stream. */
export async function follow(sessionId: string, body: object): Promise<Listener> {
  return listenTo(await request('POST', `/api/sessions/${sessionId}/chat/stream`, { body }))
}

export type Run = {
  readonly run_id: string
  readonly status: string
  readonly output: string | null
  readonly exit_reason: string | null
  readonly [more: string]: unknown
}

/** Says something and waits for the end of the run. */
export async function say(sessionId: string, input: string, more: object = {}): Promise<Run> {
  const { status, body } = await call<Run>('POST', `/api/sessions/${sessionId}/chat`, { body: { input, ...more } })
  if (status !== 200) throw new Error(`${status} ${JSON.stringify(body)}`)
  return body
}

type Message = { role: string; content: unknown; tool_calls?: { function: { name: string } }[]; name?: string }

export const messagesOf = async <T = Message>(sessionId: string, key = adminKey): Promise<T[]> =>
  (await call<{ data: T[] }>('GET', `/api/sessions/${sessionId}/messages?limit=200`, { key })).body.data

/** The conversation, a line per message. */
export const linesOf = async (sessionId: string): Promise<string[]> =>
  (await messagesOf(sessionId)).map(({ role, content, tool_calls: calls }) =>
    calls ? `${role}: → ${calls.map((one) => one.function.name).join(', ')}` : `${role}: ${String(content)}`,
  )
