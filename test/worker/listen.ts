/** Sends messages to sessions and collects their events, from server-sent events or a WebSocket. */

import { until } from '../support/scripted-model.ts'
import { adminKey, call, request } from './client.ts'

export type ReceivedEvent = {
  readonly seq: number
  readonly type: string
  readonly run_id: string
  readonly session_id: string
  readonly at: string
  readonly [more: string]: unknown
}

export class Subscriber {
  readonly events: ReceivedEvent[] = []
  /** All raw frames, comments included. */
  readonly frames: string[] = []
  isClosed = false
  error: unknown
  close: () => void = () => {}

  /** Waits for the nth event of this type. */
  waitFor(type: string, nth = 1): Promise<ReceivedEvent> {
    return until(() => this.events.filter((event) => event.type === type)[nth - 1])
  }
  /** Waits for the `status` event with this state. */
  waitForState = (state: string): Promise<ReceivedEvent> =>
    until(() => this.events.find((event) => event['state'] === state))
  waitForClose = () => until(() => this.isClosed)
  get types() {
    return this.events.map(({ type }) => type)
  }
  get seqs() {
    return this.events.map(({ seq }) => seq)
  }
}

/** Joins the deltas of an answer and drops those of restarted model calls. */
export function joinDeltas(events: readonly ReceivedEvent[]): string {
  let deltas: { seq: number; delta: string }[] = []
  for (const event of events) {
    if (event.type === 'message.delta') deltas.push({ seq: event.seq, delta: String(event['delta']) })
    if (event.type === 'turn.restarted') deltas = deltas.filter(({ seq }) => seq <= Number(event['from_seq']))
  }
  return deltas.map(({ delta }) => delta).join('')
}

export function readEvents(response: Response): Subscriber {
  const listener = new Subscriber()
  const reader = (response.body ?? new ReadableStream()).getReader()
  // Cancelling a broken stream rejects with the same error.
  listener.close = () => void reader.cancel().catch(() => undefined)
  void read(reader, listener)
  return listener
}

async function read(reader: ReadableStreamDefaultReader<Uint8Array>, listener: Subscriber): Promise<void> {
  const decoder = new TextDecoder()
  let open = ''
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) break
      const frames = (open + decoder.decode(value, { stream: true })).split('\n\n')
      open = frames.pop() ?? ''
      for (const frame of frames) parseFrame(frame, listener)
    }
  } catch (error) {
    listener.error = error
  }
  listener.isClosed = true
}

function parseFrame(frame: string, { events, frames }: Subscriber) {
  frames.push(frame)
  const data = /^data: (.*)$/m.exec(frame)?.[1]
  const id = /^id: (\d+)$/m.exec(frame)?.[1]
  if (id === undefined || data === undefined) return
  const event = JSON.parse(data) as ReceivedEvent
  if (event.seq !== Number(id)) throw new Error(`The frame ${id} has the event ${event.seq}.`)
  events.push(event)
}

/** Subscribes to `GET …/events`, after an event or from now on. */
export async function subscribe(sessionId: string, after?: number, key = adminKey): Promise<Subscriber> {
  const headers: Record<string, string> = after === undefined ? {} : { 'last-event-id': String(after) }
  const response = await request('GET', `/api/sessions/${sessionId}/events`, { key, headers })
  if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`)
  const listener = readEvents(response)
  await until(() => listener.frames.length)
  return listener
}

/** Subscribes over a WebSocket. */
export async function subscribeBySocket(sessionId: string, after?: number): Promise<Subscriber> {
  const query = after === undefined ? '' : `?after=${after}`
  const response = await request('GET', `/api/sessions/${sessionId}/events${query}`, {
    headers: { upgrade: 'websocket' },
  })
  const socket = response.webSocket
  if (!socket) throw new Error(`${response.status} ${await response.text()}`)
  const listener = new Subscriber()
  socket.addEventListener('message', ({ data }) => void listener.events.push(JSON.parse(String(data)) as ReceivedEvent))
  socket.addEventListener('close', () => void (listener.isClosed = true))
  listener.close = () => socket.close(1000)
  socket.accept()
  return listener
}

/** Sends a message and streams the run. */
export async function sendAndStream(sessionId: string, body: object): Promise<Subscriber> {
  return readEvents(await request('POST', `/api/sessions/${sessionId}/chat/stream`, { body }))
}

export type Run = {
  readonly run_id: string
  readonly status: string
  readonly output: string | null
  readonly exit_reason: string | null
  readonly [more: string]: unknown
}

/** Sends a message and waits for the end of the run. */
export async function send(sessionId: string, input: string, more: object = {}): Promise<Run> {
  const { status, body } = await call<Run>('POST', `/api/sessions/${sessionId}/chat`, { body: { input, ...more } })
  if (status !== 200) throw new Error(`${status} ${JSON.stringify(body)}`)
  return body
}

type Message = { role: string; content: unknown; tool_calls?: { function: { name: string } }[]; name?: string }

export const listMessages = async <T = Message>(sessionId: string, key = adminKey): Promise<T[]> =>
  (await call<{ data: T[] }>('GET', `/api/sessions/${sessionId}/messages?limit=200`, { key })).body.data

/** Lists the conversation, one line per message. */
export const listLines = async (sessionId: string): Promise<string[]> =>
  (await listMessages(sessionId)).map(({ role, content, tool_calls: calls }) =>
    calls ? `${role}: → ${calls.map((one) => one.function.name).join(', ')}` : `${role}: ${String(content)}`,
  )
