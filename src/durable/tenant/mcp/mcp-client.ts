/**
 * Sends requests to an MCP server and reads its answers. Nothing is kept open between requests: a server of the modern
 * revision needs no session, and the id of a legacy session is a value that the caller keeps.
 */

import { isJsonObject, type JsonObject } from '#agent/core/parse-json.ts'
import { type Challenge, parseChallenge } from '#agent/mcp/oauth.ts'
import {
  answerServer,
  answersTo,
  createHeaders,
  createInitialize,
  createNotification,
  createRequest,
  type Era,
  excerptOf,
  explainNoAnswer,
  type Offers,
  isKnownLegacyVersion,
  judgeProbe,
  modernVersion,
  parseMessages,
  renderProgress,
  type RpcMessage,
} from '#agent/mcp/protocol.ts'
import { clock } from '#durable/platform/clock.ts'
import { firstAnswer, isJson, isStream, readEvents, type SseEvent, type StreamPosition } from './event-stream.ts'
import { startDeadline } from '#durable/platform/timeout.ts'
import type { GuardedFetch } from '#durable/platform/guarded-fetch.ts'

export type McpEndpoint = {
  readonly url: string
  readonly transport: 'http' | 'sse'
  readonly headers: Readonly<Record<string, string>>
  /** From a variable of the deployment: the address may be private. */
  readonly isTrustedAddress: boolean
  readonly guardedFetch: GuardedFetch
  /** The kinds of questions that the server may ask. Absent: none. */
  readonly offers?: Offers
  /** The sealed token of OAuth that `headers` holds. */
  readonly sealedToken?: string
}

/** The knowledge about a server between requests. `sessionId` changes with each handshake. */
export type McpPeer = {
  readonly era: Era
  readonly version: string
  sessionId?: string | undefined
  /** A legacy server that asks on no stream of its own. */
  hasNoStream?: boolean
  /** Requests that run. They share the one stream that a session may have. */
  running?: number
}

/**
 * `auth`: the server wants other credentials. `transport`: no answer of the protocol arrived. `stale`: the server does
 * not speak the era that was found before. `rpc`: the protocol's own error. `too-large`: the answer was not read.
 */
export type McpFailureKind = 'auth' | 'transport' | 'stale' | 'rpc' | 'too-large' | 'aborted'

type FailureDetails = { readonly code?: number; readonly challenge?: Challenge | undefined }

export class McpFailure extends Error {
  override readonly name = 'McpFailure'
  readonly kind: McpFailureKind
  readonly code: number | undefined
  /** Of `auth`: how the server wants to be asked. */
  readonly challenge: Challenge | undefined

  constructor(kind: McpFailureKind, message: string, { code, challenge }: FailureDetails = {}) {
    super(message)
    this.kind = kind
    this.code = code
    this.challenge = challenge
  }
}

/** A legacy server asks on the stream of a request, and sends its answer there afterwards. */
export class ServerQuestion extends Error {
  override readonly name = 'ServerQuestion'
  readonly question: RpcMessage
  /** Goes on with the answer, as long as this object lives. */
  readonly answer: (result: JsonObject) => Promise<JsonObject>
  /** The place at which another object of this session reads on. Undefined: there is none. */
  readonly place: StreamPlace | undefined

  constructor(question: RpcMessage, place: StreamPlace | undefined, answer: ServerQuestion['answer']) {
    super('The server asks something.')
    this.question = question
    this.place = place
    this.answer = answer
  }
}

/** The last event that was read of the answer to a request. */
export type StreamPlace = {
  readonly requestId: string | number
  readonly eventId: string
  readonly sessionId: string
  readonly version: string
}

export type RequestControl = {
  readonly timeoutMs: number
  readonly signal?: AbortSignal | undefined
  readonly onProgress?: ((text: string) => void) | undefined
  /** Beside those of the protocol: values that a tool repeats in headers. */
  readonly headers?: Readonly<Record<string, string>>
}

const maxAnswerBytes = 8 * 1024 * 1024
let lastId = 0

/** Finds out which era a server speaks. `capabilities` are those of the handshake. */
export async function openPeer(
  endpoint: McpEndpoint,
  control: RequestControl,
): Promise<{ readonly peer: McpPeer; readonly capabilities: JsonObject }> {
  if (endpoint.transport === 'sse') return { peer: { era: 'sse', version: '2024-11-05' }, capabilities: {} }
  const probe = createRequest({ era: 'modern', version: modernVersion, id: ++lastId, method: 'server/discover' })
  const response = await post(endpoint, probe, createHeaders(probe, { era: 'modern', version: modernVersion }), control)
  const message = isStream(response)
    ? await firstAnswer(readSse(response, control), probe.id)
    : parseMessages(await readText(response, control))[0]
  const verdict = judgeProbe(response.status, message)
  if (verdict.era === 'modern') {
    const { capabilities = {} } = (message?.result ?? {}) as { capabilities?: JsonObject }
    return { peer: { era: 'modern', version: verdict.version }, capabilities }
  }
  if (verdict.era === 'unknown') {
    if (response.status === 401 || response.status === 403) throw authFailure(response)
    throw new McpFailure('transport', `The server cannot be used: ${verdict.reason}.`)
  }
  return initialize(endpoint, control)
}

/** A server without session ids is remembered by an empty one. */
async function initialize(endpoint: McpEndpoint, control: RequestControl) {
  const hello = createInitialize(++lastId, undefined, endpoint.offers)
  const response = await post(endpoint, hello, createHeaders(hello, { era: 'legacy' }), control)
  if (!isJson(response)) await requireSuccess(response)
  const result = await readAnswer(response, hello, { endpoint, control, peer: undefined })
  const version = result['protocolVersion']
  if (!isKnownLegacyVersion(version))
    throw new McpFailure('transport', `The server speaks the version ${String(version)}, which is not known here.`)
  const peer: McpPeer = { era: 'legacy', version, sessionId: response.headers.get('mcp-session-id') ?? '' }
  await notify(endpoint, peer, createNotification('notifications/initialized'), control)
  return { peer, capabilities: (result['capabilities'] ?? {}) as JsonObject }
}

async function notify(
  endpoint: McpEndpoint,
  peer: McpPeer,
  message: RpcMessage,
  control: RequestControl,
): Promise<void> {
  const response = await post(endpoint, message, createHeaders(message, peer), control)
  await response.body?.cancel()
}

type RpcAsk = { readonly method: string; readonly params?: JsonObject }

/** Sends one request and returns its result. A legacy session that the server has forgotten is opened once more. */
export async function request(
  endpoint: McpEndpoint,
  peer: McpPeer,
  ask: RpcAsk,
  control: RequestControl,
): Promise<JsonObject> {
  if (peer.era === 'sse') return requestOverSse(endpoint, ask, control)
  if (peer.era === 'legacy' && peer.sessionId === undefined) await renewSession(endpoint, peer, control)
  const hasSession = peer.era === 'legacy' && Boolean(peer.sessionId)
  const answer = await sendRequest({ endpoint, peer, control }, ask, hasSession)
  if (answer) return answer
  await renewSession(endpoint, peer, control)
  return (await sendRequest({ endpoint, peer, control }, ask, false)) ?? {}
}

type RequestExchange = Exchange & { readonly peer: McpPeer }

/** Undefined: the server does not know the session any more. */
async function sendRequest(exchange: RequestExchange, ask: RpcAsk, mayRenew: boolean): Promise<JsonObject | undefined> {
  const { endpoint, peer, control } = exchange
  const progressToken = control.onProgress && `p${lastId + 1}`
  const { era, version, sessionId } = peer
  const message = createRequest({
    era,
    version,
    id: ++lastId,
    ...ask,
    ...(progressToken && { progressToken }),
    offers: endpoint.offers,
  })
  const headers = { ...createHeaders(message, { era, version, sessionId: sessionId || undefined }), ...control.headers }
  const cancel = () => cancelRequest(exchange, message)
  control.signal?.addEventListener('abort', cancel, { once: true })
  peer.running = (peer.running ?? 0) + 1
  try {
    const questions =
      ask.method === 'tools/call' || ask.method === 'tasks/result' ? await openQuestions(exchange) : undefined
    const answer = readReply(exchange, { message, headers, mayRenew })
    return await (questions ? readBoth(exchange, answer, questions) : answer)
  } finally {
    control.signal?.removeEventListener('abort', cancel)
    peer.running--
  }
}

type SentRequest = {
  readonly message: RpcMessage
  readonly headers: Readonly<Record<string, string>>
  readonly mayRenew: boolean
}

async function readReply(
  exchange: RequestExchange,
  { message, headers, mayRenew }: SentRequest,
): Promise<JsonObject | undefined> {
  const response = await post(exchange.endpoint, message, headers, exchange.control)
  if (response.status === 404 && mayRenew) {
    await response.body?.cancel()
    return undefined
  }
  if (response.status >= 400 && !isJson(response)) await requireSuccess(response)
  return readAnswer(response, message, exchange)
}

/** Closing a request cancels it in the modern revision. Legacy servers are told. */
function cancelRequest({ endpoint, peer, control }: RequestExchange, { id }: RpcMessage): void {
  if (peer.era !== 'legacy') return
  const cancelled = createNotification('notifications/cancelled', {
    requestId: id,
    reason: 'The user stopped the turn.',
  })
  const late = { ...control, signal: undefined, timeoutMs: 5_000 }
  notify(endpoint, peer, cancelled, late).catch(() => undefined)
}

async function renewSession(endpoint: McpEndpoint, peer: McpPeer, control: RequestControl): Promise<void> {
  peer.sessionId = (await initialize(endpoint, control)).peer.sessionId
  // The refusal of a stream may have been about the session that was forgotten.
  peer.hasNoStream = false
}

async function post(
  { url, headers: own, isTrustedAddress, guardedFetch }: McpEndpoint,
  message: RpcMessage,
  headers: Readonly<Record<string, string>>,
  { timeoutMs, signal }: RequestControl,
): Promise<Response> {
  const body = JSON.stringify(message)
  const sent = { method: 'POST', headers: { ...own, ...headers }, body, maxBytes: maxAnswerBytes }
  const rules = { timeoutMs, signal, ports: 'service' as const, isTrusted: isTrustedAddress }
  const { response } = await send(guardedFetch, { url, ...sent, ...rules })
  if (response.status >= 300 && response.status < 400) {
    await response.body?.cancel()
    throw new McpFailure('transport', `The server redirects (status ${response.status}). Give its final address.`)
  }
  return response
}

async function send(guardedFetch: GuardedFetch, sent: Parameters<GuardedFetch>[0]): ReturnType<GuardedFetch> {
  try {
    return await guardedFetch(sent)
  } catch (error) {
    throw toFailure(error, sent.signal)
  }
}

function toFailure(error: unknown, signal?: AbortSignal | null): McpFailure {
  if (error instanceof McpFailure) return error
  if (signal?.aborted) return new McpFailure('aborted', 'The call was stopped.')
  const name = error instanceof Error ? error.name : ''
  if (name === 'TimeoutError') return new McpFailure('transport', 'The server did not answer in time.')
  const text = error instanceof Error ? error.message : String(error)
  if (name === 'BlockedAddress') return new McpFailure('transport', text)
  // The server is there: such an answer says nothing about others.
  if (name === 'ResponseTooLarge') return new McpFailure('too-large', 'The answer of the server is larger than 8 MiB.')
  // The runtime's own words for a name that is not found, or a port where nobody listens.
  const reason = /^internal error\b/i.test(text) ? 'check its address' : excerptOf(text)
  return new McpFailure('transport', `The server cannot be reached: ${reason}`)
}

function authFailure({ status, headers }: Response): McpFailure {
  const challenge = parseChallenge(headers.get('www-authenticate'))
  const remedy = challenge ? 'Set its token, or auth to oauth and sign in.' : 'Set its token or headers.'
  return new McpFailure('auth', `The server refuses the credentials (status ${status}). ${remedy}`, { challenge })
}

async function requireSuccess(response: Response): Promise<void> {
  const { status } = response
  if (status < 400) return
  if (status === 401 || status === 403) {
    await response.body?.cancel()
    throw authFailure(response)
  }
  const text = excerptOf(await readText(response))
  throw new McpFailure(
    status < 500 && status !== 429 ? 'stale' : 'transport',
    `The server answered with status ${status}${text && `: ${text}`}`,
  )
}

async function readText(response: Response, { signal }: Pick<RequestControl, 'signal'> = {}): Promise<string> {
  try {
    return await response.text()
  } catch (error) {
    throw toFailure(error, signal)
  }
}

type Exchange = {
  readonly endpoint: McpEndpoint
  readonly control: RequestControl
  readonly peer: McpPeer | undefined
}

/** Reads until the answer with the id of the request arrives. */
async function readAnswer(response: Response, { id }: RpcMessage, exchange: Exchange): Promise<JsonObject> {
  const { control } = exchange
  if (!isStream(response)) {
    const text = await readText(response, control)
    const answer = parseMessages(text).find((message) => answersTo(message, id))
    if (answer) return resultOf(answer, response)
    // An error about a request that could not be read has no id.
    const [error] = parseMessages(text)
    if (error?.error && error.id == null) return resultOf(error, response)
    await requireSuccess(new Response(text, response))
    throw new McpFailure('transport', explainNoAnswer(text))
  }
  const position: StreamPosition = {}
  return readOn({ ...exchange, response, id, position, events: readSse(response, control, position) })
}

type OpenStream = Exchange & {
  readonly response: Response
  readonly id: RpcMessage['id']
  readonly events: AsyncGenerator<SseEvent>
  readonly position: StreamPosition
  /** How often the stream was opened again. */
  readonly resumed?: number
}

const maxResumed = 20
const maxRetryMs = 10_000
const defaultRetryMs = 1_000

/** Throws a `ServerQuestion` when the server asks a person. The stream stays open then. */
async function readOn(stream: OpenStream): Promise<JsonObject> {
  const { events, response, id, endpoint, position } = stream
  const handleBeside = createBesideHandler(stream)
  const isAnswer = (message: RpcMessage) => answersTo(message, id)
  let isKept = false
  try {
    for (let next = await events.next(); !next.done; next = await events.next()) {
      const messages = parseMessages(next.value.data)
      const ends = messages.find((message) => isAnswer(message) || isQuestion(message, endpoint))
      messages.filter((message) => message !== ends).forEach((message) => handleBeside(message, endpoint))
      isKept = ends !== undefined && !isAnswer(ends)
      if (ends && isKept) throw askedOn(stream, ends)
      if (ends) return resultOf(ends, response)
    }
  } finally {
    if (!isKept) await events.return(undefined)
  }
  const place = placeOf(stream)
  if (!place || (stream.resumed ?? 0) >= maxResumed)
    throw new McpFailure('transport', 'The stream of the server ended before its answer.')
  await clock.wait(Math.min(maxRetryMs, position.retryMs ?? defaultRetryMs))
  return readOn({ ...(await reopen(stream, place)), resumed: (stream.resumed ?? 0) + 1 })
}

const isQuestion = ({ method }: RpcMessage, { offers }: McpEndpoint): boolean =>
  method === 'elicitation/create' && offers?.elicitation === true

function placeOf({ peer, id, position: { eventId } }: OpenStream): StreamPlace | undefined {
  const { sessionId, version, era } = peer ?? {}
  return era === 'legacy' && eventId && id !== undefined && sessionId !== undefined && version !== undefined
    ? { requestId: id, eventId, sessionId, version }
    : undefined
}

/** Reads on after the last event that arrived. */
async function reopen({ endpoint, control }: Omit<Exchange, 'peer'>, place: StreamPlace): Promise<OpenStream> {
  const { requestId: id, eventId, sessionId, version } = place
  const peer: McpPeer = { era: 'legacy', version, sessionId }
  const response = await openStream({ endpoint, peer, control }, { 'last-event-id': eventId })
  await requireSuccess(response)
  const position: StreamPosition = { eventId }
  return { endpoint, peer, control, response, id, position, events: readSse(response, control, position) }
}

async function openStream(
  { endpoint, peer, control }: Exchange,
  more: Readonly<Record<string, string>> = {},
): Promise<Response> {
  const { url, isTrustedAddress: isTrusted, guardedFetch, headers: own } = endpoint
  const { version, sessionId } = peer ?? {}
  const headers = {
    ...own,
    accept: 'text/event-stream',
    ...(sessionId && { 'mcp-session-id': sessionId }),
    ...(version !== undefined && { 'mcp-protocol-version': version }),
    ...more,
  }
  const { timeoutMs, signal } = control
  const get = { url, headers, timeoutMs, signal, ports: 'service' as const, isTrusted, maxBytes: maxAnswerBytes }
  return (await send(guardedFetch, get)).response
}

// Official servers of 2025-11-25 ask people on a stream beside that of the call.

type QuestionStream = { readonly events: AsyncGenerator<SseEvent>; readonly close: () => void }

/** The stream on which a legacy server asks. Undefined: it has none, or asks nobody. */
async function openQuestions(exchange: RequestExchange): Promise<QuestionStream | undefined> {
  const { endpoint, peer, control } = exchange
  if (peer.era !== 'legacy' || !peer.sessionId || peer.hasNoStream || !endpoint.offers?.elicitation) return undefined
  const closing = new AbortController()
  const signal = control.signal ? AbortSignal.any([control.signal, closing.signal]) : closing.signal
  // Open before the call is sent: official servers drop a question that finds no stream, and no call says that it asks.
  const response = await openFree({ ...exchange, control: { ...control, signal } })
  if (response.ok && isStream(response)) return { events: readSse(response, { signal }), close: () => closing.abort() }
  await response.body?.cancel()
  peer.hasNoStream = !isTemporary(response.status)
  return undefined
}

/** The server may notice late that the stream of the call before was closed. */
const conflictWaitsMs = [30, 100, 300]
const conflict = 409
const isTemporary = (status: number): boolean => status === conflict || status === 429 || status >= 500

async function openFree(exchange: RequestExchange): Promise<Response> {
  let response = await openStream(exchange)
  for (const ms of conflictWaitsMs) {
    if (response.status !== conflict || exchange.peer.running !== 1) break
    await response.body?.cancel()
    await clock.wait(ms)
    response = await openStream(exchange)
  }
  return response
}

/** Reads the answer of a request while the server may ask on the other stream. */
async function readBoth(
  exchange: RequestExchange,
  answer: Promise<JsonObject | undefined>,
  questions: QuestionStream,
): Promise<JsonObject | undefined> {
  // It may fail while nobody waits for it, because a person is asked.
  answer.catch(() => undefined)
  const ended = answer.then(
    () => undefined,
    () => undefined,
  )
  const question = await Promise.race([ended, nextQuestion(exchange, questions)])
  if (!question) {
    questions.close()
    return answer
  }
  throw new ServerQuestion(question, undefined, async (result) => {
    await answerQuestion(exchange, question, result)
    return (await readBoth(exchange, answer, questions)) ?? {}
  })
}

/** Never ends without a question: a stream that breaks is not missed, because the answer ends the call. */
async function nextQuestion({ endpoint }: Exchange, { events }: QuestionStream): Promise<RpcMessage> {
  try {
    for (let next = await events.next(); !next.done; next = await events.next()) {
      const found = parseMessages(next.value.data).find((message) => isQuestion(message, endpoint))
      if (found) return found
    }
  } catch (error) {
    if (!(error instanceof McpFailure)) throw error
  }
  return new Promise<never>(() => undefined)
}

const askedOn = (stream: OpenStream, question: RpcMessage): ServerQuestion =>
  new ServerQuestion(question, placeOf(stream), async (result) => {
    await answerQuestion(stream, question, result)
    return readOn(stream)
  })

async function answerQuestion({ endpoint, peer, control }: Exchange, { id }: RpcMessage, result: JsonObject) {
  if (!peer || id === undefined) throw new McpFailure('transport', 'The server asked without an id.')
  await notify(endpoint, peer, { jsonrpc: '2.0', id, result }, control)
}

/** Answers the question of a server, and reads on where another object has stopped reading. */
export async function answerLater(
  endpoint: McpEndpoint,
  { question, place }: { readonly question: RpcMessage; readonly place: StreamPlace },
  result: JsonObject,
  control: RequestControl,
): Promise<JsonObject> {
  const peer: McpPeer = { era: 'legacy', version: place.version, sessionId: place.sessionId }
  await answerQuestion({ endpoint, peer, control }, question, result)
  return readOn(await reopen({ endpoint, control }, place))
}

/** Each answer is a request. A server that asks more, or faster, gets none. */
const maxAnswers = 500
const maxOpenAnswers = 4

/** Handles the messages that come before the answer. */
function createBesideHandler({ control, peer }: Omit<Exchange, 'endpoint'>) {
  let answers = 0
  let open = 0
  return (message: RpcMessage, endpoint: McpEndpoint): void => {
    const progress = renderProgress(message)
    if (progress !== undefined) control.onProgress?.(progress)
    const answer = message.method === undefined ? undefined : answerServer(message)
    if (!answer || !peer || open >= maxOpenAnswers || answers >= maxAnswers) return
    answers++
    open++
    notify(endpoint, peer, answer, control)
      .catch(() => undefined)
      .finally(() => open--)
  }
}

function resultOf({ result, error }: RpcMessage, response?: Response): JsonObject {
  if (error) {
    if (response?.status === 401 || response?.status === 403) throw authFailure(response)
    throw toRpcFailure(error)
  }
  if (!isJsonObject(result)) throw new McpFailure('transport', 'The server answered without a result.')
  return result
}

function toRpcFailure(error: unknown): McpFailure {
  const { code, message } = isJsonObject(error) ? error : { code: undefined, message: error }
  const isStale = code === -32_022 || code === -32_020
  const reason = typeof message === 'string' && message ? message.slice(0, 1_000) : 'The server gave no reason.'
  return new McpFailure(isStale ? 'stale' : 'rpc', reason, typeof code === 'number' ? { code } : {})
}

const readSse = (
  response: Response,
  { signal }: Pick<RequestControl, 'signal'>,
  position?: StreamPosition,
): AsyncGenerator<SseEvent> => readEvents(response, (error) => toFailure(error, signal), position)

// The transport of 2024-11-05: a GET stream names an address for messages, and brings all answers.

async function requestOverSse(endpoint: McpEndpoint, ask: RpcAsk, control: RequestControl): Promise<JsonObject> {
  const { url, headers, isTrustedAddress: isTrusted, guardedFetch } = endpoint
  const deadline = startDeadline(control.timeoutMs, control.signal)
  const { signal } = deadline
  try {
    const get = { url, headers: { ...headers, accept: 'text/event-stream' }, signal, timeoutMs: Infinity }
    const { response } = await send(guardedFetch, { ...get, ports: 'service', isTrusted, maxBytes: maxAnswerBytes })
    await requireSuccess(response)
    if (!isStream(response)) throw new McpFailure('transport', 'The server did not open a stream of events.')
    return await converse(endpoint, response, ask, { ...control, signal })
  } finally {
    deadline.end()
  }
}

async function converse(
  endpoint: McpEndpoint,
  stream: Response,
  ask: RpcAsk,
  control: RequestControl,
): Promise<JsonObject> {
  const peer: McpPeer = { era: 'sse', version: '2024-11-05' }
  const hello = createInitialize(++lastId, peer.version)
  const message = createRequest({ ...peer, id: ++lastId, ...ask })
  let target: McpEndpoint | undefined
  const handleBeside = createBesideHandler({ peer, control })
  const tell = (one: RpcMessage) => notify(target ?? endpoint, peer, one, control)
  for await (const { event, data } of readSse(stream, control)) {
    if (event === 'endpoint') {
      target = { ...endpoint, url: resolveEndpoint(data, endpoint.url) }
      await tell(hello)
      continue
    }
    for (const answer of parseMessages(data)) {
      if (answersTo(answer, message.id)) return resultOf(answer)
      if (answersTo(answer, hello.id)) {
        resultOf(answer)
        await tell(createNotification('notifications/initialized'))
        await tell(message)
      } else handleBeside(answer, target ?? endpoint)
    }
  }
  throw new McpFailure('transport', 'The stream of the server ended before its answer.')
}

/** The address belongs to the same origin, because the credentials go there. */
function resolveEndpoint(data: string, base: string): string {
  const found = URL.parse(data.trim(), base)
  if (found && found.origin === new URL(base).origin) return found.href
  throw new McpFailure('transport', 'The server names an address of another origin for its messages.')
}
