/** Subscribes to server-sent events, collects them, and can reconnect after the last one. */

import { setTimeout as delay } from 'node:timers/promises'
import { createParser } from 'eventsource-parser'

export type ReceivedEvent = {
  readonly id: number | undefined
  readonly type: string
  // oxlint-disable-next-line no-explicit-any -- what the server says is what the tests look into
  readonly data: any
  /** In milliseconds since 1970. */
  readonly receivedAt: number
}

export type Subscriber = {
  readonly events: ReceivedEvent[]
  readonly comments: string[]
  readonly status: () => number
  readonly lastId: () => number
  readonly until: (right: (event: ReceivedEvent) => boolean, timeoutMs?: number) => Promise<ReceivedEvent>
  readonly ended: () => boolean
  /** Opens a new connection after the last event. Its events are appended to the same list. */
  readonly reconnect: (url?: string) => Promise<void>
  readonly close: () => void
}

type Target = {
  readonly url: string
  readonly path: string
  readonly key: string
  readonly after?: number
  /** With a body, the stream is the response of a POST. */
  readonly body?: unknown
}

export async function subscribe(target: Target): Promise<Subscriber> {
  const events: ReceivedEvent[] = []
  const comments: string[] = []
  const line = { status: 0, ended: false, abort: new AbortController() }
  const lastId = () => events.findLast(({ id }) => id !== undefined)?.id ?? target.after ?? 0
  const connect = async (url: string, after: number | undefined) => {
    line.abort = new AbortController()
    line.ended = false
    const response = await fetch(`${url}${target.path}`, {
      method: target.body === undefined ? 'GET' : 'POST',
      headers: {
        authorization: `Bearer ${target.key}`,
        accept: 'text/event-stream',
        ...(target.body !== undefined && { 'content-type': 'application/json' }),
        ...(after !== undefined && { 'last-event-id': String(after) }),
      },
      ...(target.body !== undefined && { body: JSON.stringify(target.body) }),
      signal: line.abort.signal,
    })
    line.status = response.status
    void drain(response, events, comments).finally(() => (line.ended = true))
  }
  await connect(target.url, target.after)
  return {
    events,
    comments,
    status: () => line.status,
    lastId,
    ended: () => line.ended,
    until: (right, timeoutMs = 20_000) => waitFor(events, right, timeoutMs),
    reconnect: (url = target.url) => connect(url, lastId()),
    close: () => line.abort.abort(),
  }
}

async function drain(response: Response, events: ReceivedEvent[], comments: string[]): Promise<void> {
  const parser = createParser({
    onEvent: ({ id, event = 'message', data }) =>
      events.push({
        id: id === undefined ? undefined : Number(id),
        type: event,
        data: data === '[DONE]' ? data : JSON.parse(data),
        receivedAt: Date.now(),
      }),
    onComment: (comment) => comments.push(comment),
  })
  const decoder = new TextDecoder()
  try {
    for await (const part of response.body ?? []) parser.feed(decoder.decode(part as Uint8Array, { stream: true }))
  } catch {
    // The test killed the server or closed the subscriber.
  }
}

async function waitFor(
  events: readonly ReceivedEvent[],
  right: (event: ReceivedEvent) => boolean,
  timeoutMs: number,
): Promise<ReceivedEvent> {
  for (const deadline = Date.now() + timeoutMs; Date.now() < deadline; await delay(10)) {
    const found = events.find(right)
    if (found) return found
  }
  throw new Error(
    `no such event in ${timeoutMs} ms; received: ${events.map(({ id, type }) => `${id}:${type}`).join(' ')}`,
  )
}

export const isRunEnd = ({ type }: ReceivedEvent): boolean => /^run\.(completed|failed|cancelled)$/.test(type)
