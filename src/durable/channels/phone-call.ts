/**
 * Holds the socket of one telephone call: what the caller says becomes a message of their session, and the answer is
 * spoken while it comes. The object hibernates between utterances. What it must not lose is stored before it acts.
 */

import { log } from '#agent/core/log.ts'
import { allMarks } from '#agent/core/marks.ts'
import { type Authority, systemAuthority } from '#agent/core/permission/authority.ts'
import type { SessionEvent } from '#agent/core/event.ts'
import { parseJson } from '#agent/core/parse-json.ts'
import type { CallIdentity, InboundEvent } from '#channels/channel.ts'
import { listPlatforms } from '#channels/channels.ts'
import { parseFrame, renderSpeech, renderToken } from '#channels/phone/relay-frames.ts'
import { describeContent } from '#channels/text/describe-forward.ts'
import { readEventData } from '#durable/platform/byte-stream.ts'
import { clock } from '#durable/platform/clock.ts'
import { newRunId } from '#durable/platform/ids.ts'
import { callStub, sessionStub, tenantStub, waitingName } from '#durable/platform/addresses.ts'
import type { LoadedConnection } from '#durable/tenant/channels/connection.ts'
import { hashParts } from '#durable/tenant/jobs/chat-session.ts'
import { acceptReceived } from './accept-request.ts'
import { getOrigin, getPerson, getSessionId } from './gateway.ts'
import { closeQuietly, loadOwn, type ReceiverOwner } from './receiver.ts'

/** Names the call in the request that opens its socket. Only the worker sends it. */
export const callHeader = 'x-talaria-call'

type Call = CallIdentity & { readonly owner: ReceiverOwner }

/** The last words of the caller, until a session has taken them. */
type Said = { readonly n: number; readonly text: string }

/** The answer that is being spoken. `after`: the number of the last event that was spoken. */
type Spoken = { readonly runId: string; readonly sessionId: string; readonly after: number }

/** A call that the agent makes. `authority` may do what the session may that ordered it, and gets the report. */
export type CallOrder = {
  readonly sessionId: string
  readonly authority: Authority
  readonly brief: string
  readonly opening: string
  /** The call has no id yet. Without one, nobody knows whether it rang. */
  readonly isUncertain?: true
}

type OrderState = CallOrder & {
  readonly isOpened?: true
  /** The words of the person, with the runs that answered it. */
  readonly said: readonly { readonly text: string; readonly runId?: string }[]
}

type StoredCall = Call & {
  /** Until the report. */
  readonly order?: OrderState
  /** How many things the caller has said. */
  readonly count: number
  readonly said?: Said
  readonly digits?: string
  readonly spoken?: Spoken
}

const callKey = 'call'
/** Digits that follow each other faster than this are one answer. */
const digitPauseMs = 1_500
const watchMs = 20_000
/** The number of the caller is kept for as long as the call can go on. */
const retentionMs = 4 * 3_600_000
/** Nobody answers later. */
const answerMs = 120_000
/** The carrier opens a broken socket again within this time. */
const reopenMs = 15_000
const maxReported = 100
/** The place in an answer is stored so often. */
const storeMs = 1_000

export class PhoneCall {
  readonly #ctx: DurableObjectState
  readonly #env: Env
  #stored: StoredCall | undefined
  /** Frames take effect one after another. */
  #queue: Promise<void> = Promise.resolve()
  #following: AbortController | undefined
  /** The end of what came of the answer, which may be the beginning of keys. */
  #unspoken = ''

  constructor(ctx: DurableObjectState, env: Env) {
    this.#ctx = ctx
    this.#env = env
    this.#stored = ctx.storage.kv.get<StoredCall>(callKey)
  }

  /** The agent calls. The report comes also when nobody answers. */
  async order(call: Call, order: CallOrder): Promise<boolean> {
    // The person has answered already, and the order was found; or another call to this number is being placed.
    if (this.#stored?.order) return false
    this.#store({ ...(this.#stored ?? { count: 0 }), ...call, order: { ...order, said: [] } })
    await this.#ctx.storage.setAlarm(clock.now() + answerMs)
    // They may have answered at once.
    if (this.#openSockets().length) this.#open()
    return true
  }

  /** `isTaken`: the call has its id, or failed. */
  async waitingOrder(isTaken: boolean): Promise<CallOrder | undefined> {
    const order = this.#stored?.order
    if (isTaken) {
      this.#stored = undefined
      await this.#ctx.storage.deleteAlarm()
      await this.#ctx.storage.deleteAll()
    }
    return order
  }

  /** An object that died between placing the call and naming its order has left the order here. */
  async #findOrder({ owner, callSid, from, order, count }: StoredCall): Promise<void> {
    if (order || count > 0) return
    const waiting = callStub(this.#env, owner.tenantId, { id: owner.id, callSid: waitingName(from) })
    const found = await waiting?.waitingOrder(false)
    if (!found || this.#stored?.callSid !== callSid) return
    const { sessionId, authority, brief, opening } = found
    this.#update({ order: this.#stored.order ?? { sessionId, authority, brief, opening, said: [] } })
    await waiting?.waitingOrder(true)
  }

  /** A new socket of the same call takes the place of the one before. */
  open(request: Request): Response {
    const call = parseJson(decodeURIComponent(request.headers.get(callHeader) ?? '')) as Call | undefined
    if (!call) return new Response(null, { status: 404 })
    this.#store({ ...(this.#stored ?? { count: 0 }), ...call })
    for (const earlier of this.#ctx.getWebSockets()) closeQuietly(earlier, 1000)
    const { 0: client, 1: server } = new WebSocketPair()
    this.#ctx.acceptWebSocket(server)
    return new Response(null, { status: 101, webSocket: client })
  }

  receive(socket: WebSocket, frame: string | ArrayBuffer): Promise<void> {
    const next = this.#queue.then(() => this.#handle(socket, typeof frame === 'string' ? frame : ''))
    this.#queue = next.catch((error: unknown) =>
      log.warn('phone.frame_failed', 'A frame of a telephone call could not be handled.', { error }),
    )
    return this.#queue
  }

  /** The turn goes on. Its result is handed on when no other socket of the call comes. */
  async handleClose(socket: WebSocket): Promise<void> {
    closeQuietly(socket, 1000)
    const { order, spoken, said, digits } = this.#stored ?? {}
    const waitMs = order ? reopenMs : (spoken ?? said ?? digits) ? digitPauseMs : retentionMs
    await this.#ctx.storage.setAlarm(clock.now() + waitMs)
  }

  /** Digits are complete, or this object was interrupted. */
  async handleAlarm(): Promise<void> {
    await this.#queue
    const call = this.#stored
    if (!call) return
    if (call.digits) await this.#say(call.digits)
    else if (call.said) await this.#submit()
    if (this.#openSockets().length) return this.#follow()
    if (this.#stored?.order) await this.#report(this.#stored.order)
    else if (this.#stored?.spoken) await this.#handOn(this.#stored.spoken)
    await this.#forgetLater()
  }

  /** The address of the socket is not good any more by then. */
  async #forgetLater(): Promise<void> {
    const endsAt = (this.#stored?.at ?? 0) + retentionMs
    if (clock.now() < endsAt) return this.#ctx.storage.setAlarm(endsAt)
    this.#stored = undefined
    await this.#ctx.storage.deleteAll()
  }

  async #handle(socket: WebSocket, text: string): Promise<void> {
    const call = this.#stored
    if (!call) return closeQuietly(socket, 1008)
    const frame = parseFrame(text)
    switch (frame.kind) {
      case 'setup':
        if (frame.callSid !== call.callSid || frame.person !== call.from) return closeQuietly(socket, 1008)
        await this.#findOrder(call)
        this.#open()
        return this.#resume()
      case 'prompt':
        return this.#say(frame.text)
      case 'digit':
        return this.#addDigit(frame.digit)
      case 'interrupt':
        return this.#interrupt(frame.heard)
      case 'ignored':
        return this.#resume()
    }
  }

  /** Speaks the first words of a call that the agent made, once. */
  #open(): void {
    const { order } = this.#stored ?? {}
    if (!order || order.isOpened) return
    this.#update({ order: { ...order, isOpened: true } })
    this.#send(order.opening, true)
  }

  /** Goes on where an interrupted object has stopped. */
  async #resume(): Promise<void> {
    if (this.#stored?.said) await this.#submit()
    this.#follow()
  }

  async #addDigit(digit: string): Promise<void> {
    const digits = (this.#stored?.digits ?? '') + (digit === '#' ? '' : digit)
    if (digit === '#' && digits) return this.#say(digits)
    if (!digits) return
    this.#update({ digits })
    await this.#ctx.storage.setAlarm(clock.now() + digitPauseMs)
  }

  async #say(text: string): Promise<void> {
    const { digits: _digits, ...call } = this.#stored ?? this.#missing()
    const n = call.count + 1
    this.#store({ ...call, count: n, said: { n, text } })
    await this.#ctx.storage.setAlarm(clock.now() + watchMs)
    await this.#submit()
    this.#follow()
  }

  /** A repetition has the same key. A message that joins the open turn begins no run. */
  async #submit(): Promise<void> {
    const { said, callSid } = this.#stored ?? this.#missing()
    const target = await this.#target()
    if (!said || !target) return this.#hangUp()
    const { connection, sessionId, person, chat } = target
    const event: InboundEvent = {
      kind: 'message',
      key: `call:${callSid}:${said.n}`,
      address: { chat },
      isGroup: false,
      sender: { id: person, name: person },
      messageId: `${callSid}:${said.n}`,
      text: this.#describeOrder(said) + said.text,
      media: [],
      mentions: [],
    }
    const context = { env: this.#env, runInBackground: (work: Promise<unknown>) => this.#ctx.waitUntil(work) }
    const accepted = await acceptReceived(context, connection, [event])
    if (!accepted) return this.#hangUp()
    const runId = newRunId(sessionId, await hashParts([connection.id, event.key]))
    const run = await this.#session(sessionId).runs.get(this.#authority(), runId)
    const { said: _said, ...call } = this.#stored ?? this.#missing()
    const { order } = call
    const line = { text: said.text, ...(run && { runId }) }
    this.#store({
      ...call,
      ...(order && { order: { ...order, said: [...order.said, line].slice(-maxReported) } }),
      ...(run && { spoken: { runId, sessionId, after: -1 } }),
    })
    if (run) this.#stopFollowing()
  }

  /** Before the first answer, the agent learns why it has called. */
  #describeOrder({ n }: Said): string {
    const { order } = this.#stored ?? {}
    if (!order || n !== 1) return ''
    const notes = [
      describeContent('You have called this person. Your task', order.brief),
      describeContent('You have said', order.opening),
      '[To press keys of the telephone, write for example (press 12#) in square brackets.]',
    ]
    return `${notes.join('\n')}\n`
  }

  /** Speaks the answer while it comes, in the background: the caller may interrupt it. */
  #follow(): void {
    const { spoken } = this.#stored ?? {}
    if (!spoken || this.#following) return
    const following = new AbortController()
    this.#following = following
    const work = this.#speak(spoken, following.signal).catch((error: unknown) =>
      log.warn('phone.answer_interrupted', 'An answer could not be spoken.', { error }),
    )
    this.#ctx.waitUntil(work.finally(() => this.#following === following && (this.#following = undefined)))
  }

  #stopFollowing(): void {
    this.#unspoken = ''
    this.#following?.abort()
    this.#following = undefined
  }

  async #speak({ runId, sessionId, after }: Spoken, signal: AbortSignal): Promise<void> {
    let storedAt = clock.now()
    for await (const event of this.#eventsOf({ runId, sessionId, after })) {
      if (signal.aborted) return
      const isEnd = this.#speakEvent(event)
      if (isEnd) return this.#endAnswer(runId)
      if (clock.now() - storedAt < storeMs) continue
      storedAt = clock.now()
      this.#update({ spoken: { runId, sessionId, after: event.seq } })
    }
  }

  async *#eventsOf({ runId, sessionId, after }: Spoken): AsyncGenerator<SessionEvent> {
    const body = JSON.stringify({ authority: this.#authority(), runId, format: { as: 'events', after } })
    const response = await this.#session(sessionId).fetch('https://session/', { method: 'POST', body })
    if (!response.body || !response.ok) return
    for await (const data of readEventData(response.body)) yield JSON.parse(data) as SessionEvent
  }

  /** Returns whether the run has ended. */
  #speakEvent(event: SessionEvent): boolean {
    switch (event.type) {
      case 'message.delta':
        this.#speakPart(event.delta, false)
        return false
      case 'approval.request':
      case 'question.request':
        this.#send(describePending(event), true)
        return false
      case 'run.failed':
        this.#send(event.output || 'That did not work.', true)
        return true
      case 'run.completed':
      case 'run.cancelled':
        this.#speakPart('', true)
        return true
      default:
        return false
    }
  }

  #endAnswer(runId: string): void {
    const { spoken, ...call } = this.#stored ?? this.#missing()
    // A call without a listener hands the answer on.
    if (spoken?.runId === runId && this.#openSockets().length) this.#store(call)
  }

  /** The turn ends, and the stored answer with what was heard of it. */
  async #interrupt(heard: string): Promise<void> {
    // The greeting is no answer, and an answer of an earlier call stays as it is.
    if (!this.#stored?.count) return
    const { spoken, lastRun } = this.#lastAnswer()
    this.#stopFollowing()
    if (spoken) {
      const { spoken: _spoken, ...call } = this.#stored ?? this.#missing()
      this.#store(call)
    }
    const target = lastRun ?? (await this.#target())
    if (!target) return
    const { sessionId } = target
    const session = this.#session(sessionId)
    if (spoken) {
      await session.runs.stop(this.#authority(), spoken.runId)
      await session.runs.wait(this.#authority(), spoken.runId)
    }
    await session.history.cutAnswer(this.#authority(), heard)
  }

  #lastAnswer() {
    const spoken = this.#stored?.spoken
    return { spoken, lastRun: spoken && { sessionId: spoken.sessionId } }
  }

  /** The caller has hung up: a chat gets what the turn finds out. The chat of the session has it already. */
  async #handOn({ runId, sessionId }: Spoken): Promise<void> {
    const run = await this.#session(sessionId).runs.wait(this.#authority(), runId)
    const target = await this.#target()
    const text = run?.output ?? ''
    if (text && target && target.connection.channel.openRelay) await this.#notifyHome(runId, text)
    const { spoken: _spoken, ...call } = this.#stored ?? this.#missing()
    this.#store(call)
  }

  /** Reports to the session that ordered the call how it went. */
  async #report({ said, sessionId, authority, isOpened, brief, isUncertain }: OrderState): Promise<void> {
    const { from, callSid } = this.#stored ?? this.#missing()
    const target = await this.#target()
    const lines: string[] = []
    for (const { text, runId } of said) {
      const run =
        target && runId ? await this.#session(target.sessionId).runs.wait(this.#authority(), runId) : undefined
      lines.push(`They: ${text}`, ...(run?.output ? [`You: ${run.output}`] : []))
    }
    const unanswered = isUncertain ? 'It was interrupted, and nobody answered.' : 'Nobody answered.'
    const end = lines.length > 0 ? lines.join('\n') : isOpened ? 'They said nothing.' : unanswered
    const text = `Your call to ${from} has ended. ${describeContent('Its task', brief)}\n\n${end}`
    const message = { key: `call:${callSid}`, source: 'process', text, startsTurn: true, marks: allMarks } as const
    await this.#session(sessionId).injected.submit(authority, message)
    const { order: _order, spoken: _spoken, ...call } = this.#stored ?? this.#missing()
    this.#store(call)
  }

  async #notifyHome(key: string, text: string): Promise<void> {
    const { tenantId } = (this.#stored ?? this.#missing()).owner
    const { chats } = tenantStub(this.#env, tenantId)
    for (const platform of listPlatforms()) {
      const home = await chats.home(this.#authority(), platform)
      if (!home) continue
      const notice = { key, chat: home.chat, text: `After your call:\n\n${text}`, format: 'markdown' as const }
      await this.#session(home.sessionId).jobs.notify(this.#authority(), notice)
      return
    }
  }

  /** The chat in which the call continues, and its session. Undefined where the connection is gone. */
  async #target() {
    const { owner, from } = this.#stored ?? this.#missing()
    const own = await loadOwn(this.#env, owner)
    if (own?.status !== 'active') return undefined
    const { chats_of: other } = own.settings
    const connection = other === null ? own : await loadOwn(this.#env, { ...owner, id: other })
    if (!connection) return undefined
    return { connection, ...(await this.#placeOf(own, connection, from)) }
  }

  async #placeOf(own: LoadedConnection, connection: LoadedConnection, from: string) {
    const person = getPerson(own, { id: from, name: from })
    const origin = getOrigin(connection, { isGroup: false, address: { chat: person } }, person)
    return { person, chat: person, sessionId: await getSessionId(origin, connection.settings) }
  }

  #session(sessionId: string) {
    return sessionStub(this.#env, (this.#stored ?? this.#missing()).owner.tenantId, sessionId)
  }

  /** Reads and stops runs of the caller's session. What the caller says has the authority of the caller. */
  #authority(): Authority {
    const { tenantId } = (this.#stored ?? this.#missing()).owner
    return systemAuthority(tenantId, { kind: 'job', id: 'phone' }, ['chat', 'read'])
  }

  #openSockets = (): readonly WebSocket[] => this.#ctx.getWebSockets().filter(({ readyState }) => readyState === 1)

  /** Words of an answer, and keys of the telephone in it. */
  #speakPart(text: string, last: boolean): void {
    const { frames, rest } = renderSpeech(this.#unspoken + text, last)
    this.#unspoken = rest
    for (const socket of this.#openSockets()) for (const frame of frames) socket.send(frame)
  }

  #send(text: string, last: boolean): void {
    const frame = renderToken(text, last)
    for (const socket of this.#openSockets()) socket.send(frame)
  }

  #hangUp(): void {
    const { said: _said, ...call } = this.#stored ?? this.#missing()
    this.#store(call)
    for (const socket of this.#openSockets()) socket.send(JSON.stringify({ type: 'end' }))
  }

  #update(change: Partial<StoredCall>): void {
    this.#store({ ...(this.#stored ?? this.#missing()), ...change })
  }

  #store(call: StoredCall): void {
    this.#stored = call
    this.#ctx.storage.kv.put(callKey, call)
  }

  #missing(): never {
    throw new Error('The call is not known.')
  }
}

const labels = { once: 'allow it once', session: 'allow it from now on', always: 'always allow it', deny: 'deny it' }

/** The numbers are those by which a typed answer chooses. */
function describePending(event: Extract<SessionEvent, { type: 'approval.request' | 'question.request' }>): string {
  const isQuestion = event.type === 'question.request'
  const asked = isQuestion ? event.question : `May I call ${event.tool.replaceAll('_', ' ')}?`
  const choices = isQuestion ? event.choices : event.choices.map((choice) => labels[choice])
  const options = choices.map((choice, n) => `Press ${n + 1}: ${choice}.`)
  return [asked, ...options].join(' ')
}
