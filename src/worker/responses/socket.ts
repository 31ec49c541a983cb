/**
 * Serves the Responses API over a WebSocket: each message `response.create` is a request, and its events are messages.
 * Requests are answered one after another. Responses that are not stored can be continued on the same socket alone.
 */

import * as z from 'zod'
import { closeCodes } from '#agent/public-api/access-refusal.ts'
import { createErrorBody } from '#agent/public-api/error-body.ts'
import { parseResponseId } from '#agent/public-api/responses/response-ids.ts'
import { tenantStub } from '#durable/platform/addresses.ts'
import { authorityHeader, encodeAuthority } from '#durable/platform/authority-header.ts'
import { readEventData } from '#durable/platform/byte-stream.ts'
import { accessPath } from '#durable/tenant/events/tenant-sockets.ts'
import { fetchTenantSnapshot, forgetSnapshot } from '#durable/tenant/tenant-snapshot.ts'
import { requireLastingAccess } from '../access.ts'
import { requireScope } from '../auth.ts'
import { AppError, invalid, toAppError } from '../errors.ts'
import { unknownResponse } from './continued-run.ts'
import { parseJson, validate } from '../input/body.ts'
import { requireRequestAdmission } from '../limits.ts'
import type { RouteCall, RequestContext } from '../route.ts'
import { addressSession } from '../sessions.ts'
import { createResponse } from './respond.ts'
import { type CreateCall, responseBody } from './response-body.ts'

type SocketCall = RouteCall<unknown, unknown>

/** OpenAI closes a connection after an hour as well; clients open another one. */
const maxConnectionMs = 60 * 60_000
/** After a connection to the tenant's object was lost, for example by a deployment. */
const rewatchMs = 1_000
const maxWaiting = 8
const maxMessageChars = 10_485_760

const createEvent = z.looseObject({
  type: z.string(),
  stream_id: z.string().max(200).optional(),
  generate: z.boolean().optional(),
})

export function serveResponseSocket(call: SocketCall): Response {
  const { 0: client, 1: server } = new WebSocketPair()
  server.accept()
  new ResponseSocket(call, server).start()
  return new Response(null, { status: 101, webSocket: client })
}

class ResponseSocket {
  readonly #call: SocketCall
  readonly #socket: WebSocket
  readonly #gone = new AbortController()
  /** The sessions of responses that are not stored, by the ids of the responses. */
  readonly #unstored = new Map<string, string>()
  #waiting = 0
  #last: Promise<void> = Promise.resolve()

  constructor(call: SocketCall, socket: WebSocket) {
    this.#call = call
    this.#socket = socket
  }

  start(): void {
    const timer = setTimeout(() => this.#closeWith(connectionLimit()), maxConnectionMs)
    const end = () => {
      clearTimeout(timer)
      this.#end()
    }
    void this.#watchAccess()
    this.#socket.addEventListener('message', ({ data }) => this.#receive(data))
    this.#socket.addEventListener('close', end)
    this.#socket.addEventListener('error', end)
  }

  #receive(data: unknown): void {
    if (typeof data !== 'string' || data.length > maxMessageChars)
      return this.#sendError(invalid(`A message is JSON text of at most ${maxMessageChars} characters.`))
    if (this.#waiting >= maxWaiting)
      return this.#sendError(
        new AppError(429, 'limit_exceeded', `At most ${maxWaiting} requests wait on a connection.`),
      )
    this.#waiting++
    this.#last = this.#last.then(() => this.#answer(data)).finally(() => this.#waiting--)
  }

  async #answer(text: string): Promise<void> {
    let event: ClientEvent | undefined
    try {
      event = parseEvent(text)
      const isComplete = await this.#create(event, text)
      if (!isComplete) this.#forget(event.previous)
    } catch (error) {
      const { previous, streamId } = event ?? {}
      this.#forget(previous)
      this.#sendError(previous !== undefined && isNotFound(error) ? unknownResponse(previous, 400) : error, streamId)
    }
  }

  /** False when the response has failed. */
  async #create({ fields, streamId }: ClientEvent, bodyText: string): Promise<boolean> {
    const { env } = this.#call
    const tenant = await fetchTenantSnapshot(env, this.#call.authority.tenantId)
    const authority = requireLastingAccess(tenant, this.#call.authority)
    requireScope(authority, 'chat')
    await requireRequestAdmission(env, tenant, authority)
    const body = validate(responseBody, fields)
    const requested = { web: this.#web(), env, authority, tenant, body, bodyText, query: {}, param: () => '' }
    const call: CreateCall = { ...requested, unstored: this.#unstored }
    const answer = await createResponse(call)
    const last = await this.#relay(answer, streamId)
    const sessionId = answer.headers.get('x-talaria-session-id')
    if (last && sessionId && !parseResponseId(last.response.id)) this.#unstored.set(last.response.id, sessionId)
    return last !== undefined && last.type !== 'response.failed'
  }

  /** The request of one message: it stops when the socket closes, and has no key of its own. */
  #web(): RequestContext {
    const { web } = this.#call
    const header = (name: string) => (name === 'idempotency-key' ? undefined : web.req.header(name))
    const req = { method: 'POST', path: web.req.path, header, raw: { signal: this.#gone.signal } }
    return { req, executionCtx: web.executionCtx, env: web.env } as unknown as RequestContext
  }

  async #relay(answer: Response, streamId: string | undefined): Promise<LastEvent | undefined> {
    let last: LastEvent | undefined
    if (!answer.body) return undefined
    for await (const data of readEventData(answer.body)) {
      const event = JSON.parse(data) as LastEvent
      this.#send(streamId === undefined ? data : JSON.stringify({ ...event, stream_id: streamId }))
      if (/^response\.(?:completed|failed|incomplete)$/.test(event.type)) last = event
    }
    return last
  }

  #send(text: string): void {
    if (this.#socket.readyState === WebSocket.OPEN) this.#socket.send(text)
  }

  /** SDKs read the fields of the event itself, other clients the object `error`. */
  #sendError(error: unknown, streamId?: string): void {
    const known = toAppError(error)
    const body = createErrorBody(known)
    const { code, message, param } = body.error
    const event = { type: 'error', status: known.status, code, message, param, sequence_number: 0, ...body }
    this.#send(JSON.stringify({ ...event, ...(streamId !== undefined && { stream_id: streamId }) }))
  }

  /** Holds a socket to the tenant's object, which closes it when the key is refused. Asks it only when that one is lost. */
  async #watchAccess(): Promise<void> {
    const { signal } = this.#gone
    while (!signal.aborted) {
      await this.#untilUnwatched().catch(() => undefined)
      if (!signal.aborted) await this.#checkAccess()
      if (!signal.aborted) await new Promise((resolve) => setTimeout(resolve, rewatchMs))
    }
  }

  /** Resolves when the tenant's object has closed the socket, or has refused it. */
  async #untilUnwatched(): Promise<void> {
    const { env, authority } = this.#call
    const headers = { upgrade: 'websocket', [authorityHeader]: encodeAuthority(authority) }
    const request = new Request(`https://tenant${accessPath}`, { headers })
    const { webSocket } = await tenantStub(env, authority.tenantId).fetch(request)
    if (!webSocket) return
    const { promise, resolve } = Promise.withResolvers<void>()
    webSocket.addEventListener('close', ({ code }) => {
      // This isolate may still have the snapshot from before.
      if (Object.values(closeCodes).includes(code)) forgetSnapshot(authority.tenantId)
      resolve()
    })
    webSocket.addEventListener('error', () => resolve())
    webSocket.accept()
    const leave = () => webSocket.close(1000)
    if (this.#gone.signal.aborted) leave()
    this.#gone.signal.addEventListener('abort', leave, { once: true })
    await promise
    this.#gone.signal.removeEventListener('abort', leave)
  }

  async #checkAccess(): Promise<void> {
    const { env, authority } = this.#call
    try {
      requireLastingAccess(await fetchTenantSnapshot(env, authority.tenantId), authority)
    } catch (error) {
      // Only a refusal ends the connection; the tenant's object may be out of reach for a moment.
      if (error instanceof AppError && (error.status === 401 || error.status === 403)) this.#closeWith(error)
    }
  }

  #closeWith(error: AppError): void {
    this.#sendError(error)
    const code = error.status === 401 ? closeCodes['key-revoked'] : closeCodes['tenant-suspended']
    this.#socket.close(error.status >= 401 ? code : 1000, error.code)
    this.#gone.abort()
  }

  /** A response whose continuation failed is not continued again. */
  #forget(id: string | undefined): void {
    const sessionId = id === undefined ? undefined : this.#unstored.get(id)
    if (id === undefined || sessionId === undefined) return
    this.#unstored.delete(id)
    if (![...this.#unstored.values()].includes(sessionId)) this.#deleteUnstored(sessionId)
  }

  #end(): void {
    this.#gone.abort()
    for (const sessionId of new Set(this.#unstored.values())) this.#deleteUnstored(sessionId)
    this.#unstored.clear()
  }

  #deleteUnstored(sessionId: string): void {
    const { env, authority, web } = this.#call
    web.executionCtx.waitUntil(addressSession(env, authority.tenantId, sessionId).info.deleteUnstored(authority))
  }
}

type ClientEvent = {
  readonly fields: object
  readonly streamId: string | undefined
  readonly previous: string | undefined
}

function parseEvent(text: string): ClientEvent {
  const { type, stream_id: streamId, generate, ...fields } = validate(createEvent, parseJson(text))
  if (type !== 'response.create') throw invalid(`There is no event ${JSON.stringify(type)} here.`, 'type')
  if (fields['background'] === true) throw invalid('background is not supported over a WebSocket.', 'background')
  if (generate === false) throw invalid('generate: false is not supported. Send the whole request.', 'generate')
  const previous = fields['previous_response_id']
  return {
    fields: { ...fields, stream: true, background: null },
    streamId,
    previous: typeof previous === 'string' ? previous : undefined,
  }
}

type LastEvent = { readonly type: string; readonly response: { readonly id: string } }

const isNotFound = (error: unknown): boolean => error instanceof AppError && error.status === 404

const connectionLimit = () =>
  new AppError(400, 'websocket_connection_limit_reached', 'A connection lasts an hour. Open another one.')
