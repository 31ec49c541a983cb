/**
 * Receives the events of a session or of the tenant, those of a session each once and in order: over a WebSocket, because
 * streams of server-sent events would use up the six connections that browsers open to a host. Without WebSockets (some
 * proxies) it uses server-sent events.
 */

import { reconnectDelayMs } from '../model/reconnect-delay.ts'
import { loadMe } from './me.ts'

export type Connection = 'connecting' | 'open' | 'closed'
export type Listening = { readonly close: () => void }
/** Events of a session have a number, so that no one is missed. */
type Numbered = { readonly type: string; readonly seq?: number }
type Options<Event> = {
  readonly url: string
  /** The number of the last event that the page has seen. Undefined: only new ones. */
  readonly after?: number | undefined
  readonly onEvent: (event: Event) => void
  readonly onState: (state: Connection) => void
}

const streamFromFailure = 2
const eventTypes = [
  'session.changed',
  'session.removed',
  'run.ended',
  'run.started',
  'run.queued',
  'run.dequeued',
  'run.waiting',
  'message.delta',
  'reasoning.delta',
  'tool.generating',
  'tool.started',
  'tool.progress',
  'tool.completed',
  'approval.request',
  'approval.responded',
  'question.request',
  'question.answered',
  'subagent.start',
  'subagent.complete',
  'status',
  'provider.fallback',
  'context.compressed',
  'turn.restarted',
  'run.steered',
  'run.completed',
  'run.failed',
  'run.cancelled',
]

export function listen<Event extends Numbered>({ url, after, onEvent, onState }: Options<Event>): Listening {
  let last = after
  let failures = 0
  /** Of the next attempt. */
  let timer: ReturnType<typeof setTimeout> | undefined
  let state: Connection = 'connecting'
  let end = () => {}
  let isClosed = false
  const receive = (text: string) => {
    failures = 0
    const event = JSON.parse(text) as Event
    const { seq, type } = event
    // Progress of a tool is not stored and may carry the number of the event before it.
    if (seq !== undefined && last !== undefined && seq <= last && !['tool.progress', 'tool.generating'].includes(type))
      return
    if (seq !== undefined) last = Math.max(last ?? 0, seq)
    onEvent(event)
  }
  const setState = (next: Connection) => onState((state = next))
  const open = () => {
    clearTimeout(timer)
    // Until an attempt succeeds, a lost connection stays `closed`, so that the page goes on saying so.
    if (failures === 0) setState('connecting')
    const address = last === undefined ? url : `${url}?after=${last}`
    const connect = failures >= streamFromFailure && failures % 2 === 0 ? openStream : openSocket
    end = connect(address, { receive, setState, onClose: retry })
  }
  const retry = (isRefused: boolean) => {
    if (isClosed) return
    const isLost = state === 'open'
    setState('closed')
    // The browser does not give the status of a refusal. A request does, and signs out after a 401.
    if (isRefused) void loadMe()
    end()
    timer = setTimeout(open, reconnectDelayMs(isLost, failures++))
  }
  /** Does not wait for the next attempt, nor for that of the browser for a stream, which may be seconds away. */
  const retryNow = () => {
    if (state !== 'closed' || document.hidden) return
    failures = 0
    end()
    open()
  }
  addEventListener('online', retryNow)
  document.addEventListener('visibilitychange', retryNow)
  open()
  return {
    close: () => {
      isClosed = true
      clearTimeout(timer)
      removeEventListener('online', retryNow)
      document.removeEventListener('visibilitychange', retryNow)
      end()
    },
  }
}

type Handlers = {
  readonly receive: (text: string) => void
  /** A connection that is `closed` may connect again by itself. */
  readonly setState: (state: Connection) => void
  /** `isRefused`: perhaps because the key is not valid any more, or has other rights. */
  readonly onClose: (isRefused: boolean) => void
}

/** Close codes of the API: 4401 for the key, 4403 for its rights or its tenant. */
const refusalCodes = new Set([4401, 4403])

function openSocket(address: string, { receive, setState, onClose }: Handlers): () => void {
  const socket = new WebSocket(address.replace(/^http/, 'ws'))
  let wasOpen = false
  const close = ({ code }: CloseEvent) => onClose(!wasOpen || refusalCodes.has(code))
  socket.addEventListener('open', () => {
    wasOpen = true
    setState('open')
  })
  socket.addEventListener('message', ({ data }) => receive(String(data)))
  socket.addEventListener('close', close)
  return () => {
    socket.removeEventListener('close', close)
    socket.close()
  }
}

/** The browser itself connects again with `Last-Event-ID`, unless the server refused. */
function openStream(address: string, { receive, setState, onClose }: Handlers): () => void {
  const stream = new EventSource(address)
  stream.addEventListener('open', () => setState('open'))
  stream.addEventListener('error', () =>
    stream.readyState === EventSource.CLOSED ? onClose(true) : setState('closed'),
  )
  for (const type of eventTypes) stream.addEventListener(type, (event) => receive(String((event as MessageEvent).data)))
  return () => stream.close()
}
