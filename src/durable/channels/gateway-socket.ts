/**
 * Keeps the gateway socket of a Discord bot. Every dispatch is accepted before its number is stored, so a new socket
 * resumes behind the last accepted one and the sessions drop what they know. An alarm of at most 30 s opens the socket
 * again after eviction, deployment or failure: an outgoing socket cannot hibernate.
 */

import { log } from '../../agent/model/log.ts'
import { callDiscord } from '../../channels/discord/discord-api.ts'
import { discord } from '../../channels/discord/discord.ts'
import * as protocol from '../../channels/discord/gateway-protocol.ts'
import { channelIdOf, type GatewayRequest } from '../../channels/discord/parse-message.ts'
import { clock } from '../platform/clock.ts'
import { forgetConnection, loadConnection, type LoadedConnection } from '../tenant/channels/connection.ts'
import { acceptRequest } from './accept-request.ts'

type Owner = { readonly id: string; readonly tenantId: string }

type Stored = {
  readonly owner: Owner
  readonly status: 'running' | 'stopped'
  readonly detail: string
  /** Sockets that ended without a READY or RESUMED, in a row. */
  readonly failures: number
  readonly gateway: protocol.GatewayState
  /** The dispatch that could not be accepted, and how often. */
  readonly rejected?: { readonly seq: number | null; readonly times: number }
}

const watchMs = 25_000
const maxPauseMs = 30_000
const maxRejections = 5
/** Then the address to resume at may be the reason. */
const maxResumeFailures = 3
const maxCachedChannels = 1_000
const key = 'gateway'

export class GatewaySocket {
  readonly #ctx: DurableObjectState
  readonly #env: Env
  #stored: Stored | undefined
  #socket: WebSocket | undefined
  #opening: Promise<void> | undefined
  #stopHeartbeat: () => void = () => undefined
  #isAcknowledged = true
  /** Frames are handled one after another. */
  #frames: Promise<void> = Promise.resolve()
  readonly #channels = new Map<string, GatewayRequest['channel']>()

  constructor(ctx: DurableObjectState, env: Env) {
    this.#ctx = ctx
    this.#env = env
    this.#stored = ctx.storage.kv.get<Stored>(key)
  }

  async start(owner: Owner): Promise<void> {
    // Its secrets may be new.
    forgetConnection(owner.id)
    const { gateway = protocol.newGatewayState } = this.#stored ?? {}
    this.#closeSocket(protocol.resumableClose)
    this.#store({ owner, status: 'running', detail: 'connecting', failures: 0, gateway })
    await this.#arm(0)
  }

  async stop(detail: string): Promise<void> {
    const stored = this.#stored
    if (stored) this.#store({ ...stored, status: 'stopped', detail })
    this.#closeSocket(1_000)
    await this.#ctx.storage.deleteAlarm()
  }

  getStatus(): { readonly status: 'running' | 'stopped'; readonly detail: string; readonly isOpen: boolean } {
    const { status = 'stopped', detail = '' } = this.#stored ?? {}
    return { status, detail, isOpen: this.#socket !== undefined }
  }

  /** Arms the next alarm first, so that nothing can leave the socket closed. */
  async handleAlarm(): Promise<void> {
    if (this.#stored?.status !== 'running') return
    await this.#arm(watchMs)
    if (this.#socket) return this.#checkConnection()
    this.#opening ??= this.#open().finally(() => (this.#opening = undefined))
    await this.#opening
  }

  /** Ends the socket of a connection that was removed with its tenant, or paused while this object was not reached. */
  async #checkConnection(): Promise<void> {
    try {
      await this.#loadConnection()
    } catch (error) {
      log.warn('gateway.connection_unknown', 'The connection could not be read; its socket stays open.', { error })
    }
  }

  async #open(): Promise<void> {
    try {
      const connection = await this.#loadConnection()
      if (!connection || this.#stored?.status !== 'running') return
      const address = await this.#findAddress(connection)
      if (address !== undefined) await this.#connect(address, connection)
    } catch (error) {
      log.warn('gateway.open_failed', 'The gateway of Discord could not be opened.', { error })
      await this.#retry('the gateway could not be opened')
    }
  }

  /** A connection that was removed, paused, or lost its secrets ends the socket for good. */
  async #loadConnection(): Promise<LoadedConnection | undefined> {
    const { owner } = this.#stored ?? {}
    const connection = owner && (await loadConnection(this.#env, owner.id, clock.now()))
    if (
      connection &&
      !('refused' in connection) &&
      connection.tenantId === owner.tenantId &&
      connection.status === 'active'
    )
      return connection
    await this.stop('the connection was paused or removed')
    return undefined
  }

  async #findAddress(connection: LoadedConnection): Promise<string | undefined> {
    const isOfficial = connection.apiBase === discord.apiBase.url
    const resumeUrl = this.#stored?.gateway.session?.resumeUrl
    const isUsable = resumeUrl !== undefined && (this.#stored?.failures ?? 0) < maxResumeFailures
    const known = isUsable ? protocol.socketAddress(resumeUrl, isOfficial) : undefined
    if (known !== undefined) return known
    const answer = await callDiscord(connection, { method: 'GET', path: 'gateway/bot' })
    if (answer.kind === 'done') return this.#readAddress(answer.result, isOfficial)
    const { kind, detail } = answer.outcome
    await (kind === 'forbidden' ? this.stop(detail) : this.#retry(detail))
    return undefined
  }

  async #readAddress(result: Readonly<Record<string, unknown>>, isOfficial: boolean): Promise<string | undefined> {
    const limits = (result['session_start_limit'] ?? {}) as {
      readonly remaining?: number
      readonly reset_after?: number
    }
    if (limits.remaining === 0) {
      const pauseMs = Math.max(Number(limits.reset_after) || 0, maxPauseMs)
      await this.#retry('Discord allows no more new sessions today', pauseMs)
      return undefined
    }
    const address = protocol.socketAddress(String(result['url']), isOfficial)
    if (address === undefined) await this.#retry('Discord named no usable gateway')
    return address
  }

  async #connect(address: string, { secrets }: LoadedConnection): Promise<void> {
    const { webSocket: socket } = await fetch(address, { headers: { upgrade: 'websocket' } })
    if (!socket) return this.#retry('the gateway did not open a socket')
    const token = secrets['bot_token'] ?? ''
    this.#socket = socket
    this.#isAcknowledged = true
    const isCurrent = () => this.#socket === socket
    socket.addEventListener('message', ({ data }) => {
      this.#frames = this.#frames.then(() => (isCurrent() ? this.#handleFrame(String(data), token) : undefined))
    })
    socket.addEventListener('close', ({ code }) => {
      this.#frames = this.#frames.then(() => (isCurrent() ? this.#handleClose(code) : undefined))
    })
    socket.addEventListener('error', () => {
      this.#frames = this.#frames.then(() => (isCurrent() ? this.#handleClose(1_006) : undefined))
    })
    socket.accept()
  }

  /** Never rejects: the queue of frames must go on. */
  async #handleFrame(text: string, token: string): Promise<void> {
    const stored = this.#stored
    if (!stored) return
    try {
      await this.#perform(protocol.readFrame(text, stored.gateway), stored, token)
    } catch (error) {
      log.warn('gateway.frame_failed', 'A frame of the gateway could not be handled.', { error })
      await this.#reconnect(stored.gateway, this.#pauseAfter(stored.failures))
    }
  }

  async #perform(step: protocol.GatewayStep, stored: Stored, token: string): Promise<void> {
    switch (step.kind) {
      case 'ignore':
        return
      case 'hello':
        this.#startHeartbeat(step.heartbeatMs)
        return this.#send(protocol.renderOpening(token, stored.gateway))
      case 'heartbeat-requested':
        return this.#send(protocol.renderHeartbeat(stored.gateway))
      case 'heartbeat-acknowledged':
        this.#isAcknowledged = true
        return
      case 'reconnect':
        return this.#reconnect(step.state, step.pauseMs)
      case 'dispatch':
        return this.#handleDispatch(step, stored)
    }
  }

  async #handleDispatch(step: Extract<protocol.GatewayStep, { kind: 'dispatch' }>, stored: Stored): Promise<void> {
    const { type, data, state } = step
    const isOpening = type === 'READY' || type === 'RESUMED'
    if (type.startsWith('MESSAGE_') && !(await this.#accept(type, data, state))) return this.#reject(state.seq, stored)
    const { rejected: _rejected, ...rest } = stored
    this.#store({ ...rest, gateway: state, ...(isOpening && { failures: 0, detail: 'connected' }) })
  }

  /** Returns false when the dispatch must come again. */
  async #accept(type: string, data: unknown, { userId }: protocol.GatewayState): Promise<boolean> {
    const connection = await this.#loadConnection()
    if (!connection) return true
    const bots = [userId, connection.secrets['application_id']].flatMap((id) => id ?? [])
    const channel = await this.#findChannel(connection, data)
    const dispatch: GatewayRequest = { type, data, bots, ...(channel && { channel }) }
    const body = new TextEncoder().encode(JSON.stringify(dispatch))
    const url = new URL(connection.webhookUrl)
    const request = { method: 'GATEWAY', url, headers: new Headers(), body, receivedAt: clock.now() }
    const context = { env: this.#env, runInBackground: (work: Promise<unknown>) => this.#ctx.waitUntil(work) }
    try {
      return (await acceptRequest(context, connection, request)).ok
    } catch (error) {
      log.warn('gateway.event_failed', 'An event of the gateway could not be accepted, and is asked for again.', {
        error,
      })
      return false
    }
  }

  /** Resuming makes Discord send it again. One that never succeeds must not block all others. */
  async #reject(seq: number | null, stored: Stored): Promise<void> {
    const times = stored.rejected?.seq === seq ? stored.rejected.times + 1 : 1
    if (times >= maxRejections) {
      log.error('gateway.event_dropped', 'An event of the gateway was given up.', { attempts: times })
      const { rejected: _rejected, ...rest } = stored
      return this.#store({ ...rest, gateway: { ...stored.gateway, seq } })
    }
    this.#store({ ...stored, rejected: { seq, times } })
    await this.#reconnect(stored.gateway, this.#pauseAfter(times))
  }

  /** Messages do not say whether their channel is a thread. */
  async #findChannel(connection: LoadedConnection, data: unknown): Promise<GatewayRequest['channel']> {
    const id = channelIdOf(data)
    const isGuild = typeof (data as { readonly guild_id?: unknown }).guild_id === 'string'
    if (id === undefined || !isGuild || !/^\d{1,20}$/.test(id)) return undefined
    const known = this.#channels.get(id)
    if (known) return known
    const answer = await callDiscord(connection, { method: 'GET', path: `channels/${id}` })
    if (answer.kind === 'failed') return undefined
    const { type, parent_id: parent } = answer.result
    const channel = {
      ...(typeof type === 'number' && { type }),
      ...(typeof parent === 'string' && { parent_id: parent }),
    }
    if (this.#channels.size >= maxCachedChannels) this.#channels.clear()
    this.#channels.set(id, channel)
    return channel
  }

  async #handleClose(code: number): Promise<void> {
    const stored = this.#stored
    if (!stored) return
    const next = protocol.afterClose(code, stored.gateway)
    if (next.kind === 'stop') return this.stop(next.detail)
    await this.#reconnect(next.state, this.#pauseAfter(stored.failures))
  }

  /** Heartbeats begin at a random moment, as Discord asks. A socket that does not answer is dead. */
  #startHeartbeat(intervalMs: number): void {
    this.#stopHeartbeat()
    const beat = () => {
      const { gateway } = this.#stored ?? {}
      if (!this.#socket || !gateway) return
      if (!this.#isAcknowledged) return this.#ctx.waitUntil(this.#reconnect(gateway, 0))
      this.#isAcknowledged = false
      this.#send(protocol.renderHeartbeat(gateway))
      this.#stopHeartbeat = clock.schedule(intervalMs, beat)
    }
    this.#stopHeartbeat = clock.schedule(Math.floor(intervalMs * Math.random()), beat)
  }

  #send(text: string): void {
    try {
      this.#socket?.send(text)
    } catch {
      // Its close event follows, and opens another one.
    }
  }

  async #reconnect(gateway: protocol.GatewayState, pauseMs: number): Promise<void> {
    const stored = this.#stored
    this.#closeSocket(protocol.resumableClose)
    if (stored?.status !== 'running') return
    this.#store({ ...stored, gateway, failures: stored.failures + 1, detail: 'connecting' })
    await this.#arm(pauseMs)
  }

  async #retry(detail: string, pauseMs?: number): Promise<void> {
    const stored = this.#stored
    if (stored?.status !== 'running') return
    this.#store({ ...stored, detail, failures: stored.failures + 1 })
    await this.#arm(pauseMs ?? this.#pauseAfter(stored.failures))
  }

  #pauseAfter = (failures: number): number => (failures === 0 ? 0 : Math.min(1_000 * 2 ** (failures - 1), maxPauseMs))

  #closeSocket(code: number): void {
    this.#stopHeartbeat()
    const socket = this.#socket
    this.#socket = undefined
    try {
      socket?.close(code, '')
    } catch {
      // It is closed already.
    }
  }

  #store(stored: Stored): void {
    this.#stored = stored
    this.#ctx.storage.kv.put(key, stored)
  }

  #arm = (pauseMs: number): Promise<void> => this.#ctx.storage.setAlarm(clock.now() + pauseMs)
}
