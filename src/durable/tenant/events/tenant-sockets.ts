/**
 * Holds the WebSockets that listen to a tenant. They hibernate with the tenant's object. Sockets beyond its limit are
 * held by relays (event-relays.ts), which have this class too.
 */

import { type Access, findRefusal, getHolder, keyOf } from '#agent/core/permission/access.ts'
import { type Authority, hasScope } from '#agent/core/permission/authority.ts'
import { closeCodes } from '#agent/public-api/access-refusal.ts'
import { authorityHeader, decodeAuthority } from '#durable/platform/authority-header.ts'
import { clock } from '#durable/platform/clock.ts'
import { createReader, listTags } from '#durable/platform/reader-tags.ts'
import type { ChangeCheck } from '../tenant-part.ts'
import type { TenantPush } from '../push/push.ts'
import type { RelayReport } from './event-relay.ts'
import { type EventRelays, relayHeader } from './event-relays.ts'
import type { TenantEvent } from './tenant-event.ts'

type TenantSocketsOptions = {
  readonly mayChange: ChangeCheck
  readonly ctx: Pick<DurableObjectState, 'acceptWebSocket' | 'getWebSockets' | 'getTags'>
  readonly access: () => Access
  /** Called when somebody begins to listen and nobody did before. */
  readonly onFirst: () => void
  /** Gets the events that no socket of its keys receives. */
  readonly push: Pick<TenantPush, 'isWanted' | 'notify'>
  readonly maxSockets: () => number
  /** Undefined in a relay. */
  readonly relays: EventRelays | undefined
  readonly runInBackground: (work: Promise<unknown>) => void
}

/** Of events, in one object. */
export const maxEventSockets = 1_000
/** The client connects again and reads its lists (RFC 6455: the service restarts). */
const lostCode = 1012

/** The path of a socket that gets no events: it closes when its holder is refused. */
export const accessPath = '/access'
const accessTag = 'access-only'
/** Each costs only memory, so they have a limit of their own. */
const maxAccessSockets = 10_000

export class TenantSockets {
  readonly #options: TenantSocketsOptions

  constructor(options: TenantSocketsOptions) {
    this.#options = options
  }

  get isWatched(): boolean {
    const { relays, push } = this.#options
    return this.#open.length > 0 || relays?.isEmpty === false || push.isWanted
  }

  /** Returns whether anybody listens, or wants push messages. */
  send(events: readonly TenantEvent[]): boolean {
    const { push, relays, runInBackground } = this.#options
    const at = new Date(clock.now()).toISOString()
    const texts = events.map((event) => JSON.stringify({ ...event, at }))
    const { keys } = this.broadcast(texts)
    if (!relays || relays.isEmpty || !texts.length) push.notify(events, new Set(keys))
    else runInBackground(relays.send(texts).then((relayed) => push.notify(events, new Set([...keys, ...relayed]))))
    return this.isWatched
  }

  /** Sends texts to the sockets of this object. */
  broadcast(texts: readonly string[]): RelayReport {
    const sockets = this.#open
    for (const text of texts) for (const socket of sockets) socket.send(text)
    const keys = new Set(sockets.map((socket) => this.#options.ctx.getTags(socket)[0] ?? ''))
    return { sockets: sockets.length, keys: [...keys] }
  }

  /** Closes all sockets, because events were lost. */
  closeAll(): void {
    for (const socket of this.#open) socket.close(lostCode, 'Events were lost.')
  }

  /** Opens a socket for the holder whom the header names. */
  serve(request: Request): Response {
    const { mayChange, ctx, access, onFirst, maxSockets } = this.#options
    const authority = decodeAuthority(request.headers.get(authorityHeader))
    if (new URL(request.url).pathname === accessPath) return this.#serveAccess(request, authority)
    const mayRead = authority && mayChange(authority) && hasScope(authority, 'read')
    if (!mayRead || findRefusal(access(), getHolder(authority, 'read'))) return new Response(null, { status: 404 })
    if (request.headers.get('upgrade') !== 'websocket') return new Response(null, { status: 426 })
    if (ctx.getWebSockets().length - this.#accessOnly.length >= maxSockets()) return this.#assignRelay(request)
    const { 0: client, 1: server } = new WebSocketPair()
    const isFirst = !this.isWatched
    ctx.acceptWebSocket(server, listTags(authority))
    if (isFirst) onFirst()
    return new Response(null, { status: 101, webSocket: client })
  }

  /** Answers 429 with the name of a relay that has room, if there is one. */
  #assignRelay(request: Request): Response {
    const full = request.headers.get(relayHeader)
    const relay = this.#options.relays?.assign(full === null ? undefined : Number(full))
    return new Response(null, { status: 429, headers: relay === undefined ? {} : { [relayHeader]: String(relay) } })
  }

  /** Opens a socket that says nothing until its holder is refused, so that nobody has to ask again and again. */
  #serveAccess(request: Request, authority: Authority | undefined): Response {
    const { mayChange, ctx, access } = this.#options
    const isRefused = !authority || !mayChange(authority) || findRefusal(access(), { keyId: keyOf(authority) })
    if (isRefused) return new Response(null, { status: 404 })
    if (request.headers.get('upgrade') !== 'websocket') return new Response(null, { status: 426 })
    if (this.#accessOnly.length >= maxAccessSockets) return new Response(null, { status: 429 })
    const { 0: client, 1: server } = new WebSocketPair()
    ctx.acceptWebSocket(server, [keyOf(authority) ?? '', accessTag])
    return new Response(null, { status: 101, webSocket: client })
  }

  /** Closes the sockets of readers who may not read any more, and those of refused keys. */
  closeRefused(access: Access): void {
    for (const socket of this.#accessOnly) {
      const { keyId } = createReader(this.#options.ctx.getTags(socket).slice(0, 1))
      const refusal = findRefusal(access, { keyId })
      if (refusal) socket.close(closeCodes[refusal], refusal)
    }
    for (const socket of this.#open) {
      const refusal = findRefusal(access, createReader(this.#options.ctx.getTags(socket)))
      if (refusal) socket.close(closeCodes[refusal], refusal)
    }
  }

  get #open(): readonly WebSocket[] {
    const quiet = new Set(this.#accessOnly)
    return this.#options.ctx
      .getWebSockets()
      .filter((socket) => socket.readyState === WebSocket.OPEN && !quiet.has(socket))
  }

  get #accessOnly(): readonly WebSocket[] {
    return this.#options.ctx.getWebSockets(accessTag)
  }
}
