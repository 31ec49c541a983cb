/**
 * Keeps the gateway socket of a Discord bot. Every dispatch is accepted before its number is stored, so a new socket
 * resumes behind the last accepted one and the sessions drop what they know. An alarm of at most 30 s opens the socket
 * again after eviction, deployment or failure: an outgoing socket cannot hibernate.
 */

import { log } from '#agent/core/log.ts'
import { callDiscord } from '#channels/discord/discord-api.ts'
import { discord } from '#channels/discord/discord.ts'
import * as protocol from '#channels/discord/gateway-protocol.ts'
import { channelIdOf, type GatewayRequest } from '#channels/discord/parse-message.ts'
import { clock } from '#durable/platform/clock.ts'
import { forgetConnection, type LoadedConnection } from '#durable/tenant/channels/connection.ts'
import { acceptRequest } from './accept-request.ts'
import {
  closeQuietly,
  loadOwn,
  openSocket,
  pauseAfter,
  type ReceiverOwner,
  type ReceiverState,
  type ReceiverStatus,
  watchMs,
} from './receiver.ts'
import * as z from 'zod'
import { BoundedMap } from '#agent/core/bounded-map.ts'
import type { ChannelConnection } from '#channels/channel.ts'

type FoundAddress =
  | { readonly kind: 'found'; readonly address: string }
  | { readonly kind: 'retry'; readonly detail: string; readonly pauseMs?: number }
  | { readonly kind: 'stop'; readonly detail: string }

export type StoredGateway = {
  readonly owner: ReceiverOwner
  readonly status: 'running' | 'stopped'
  readonly detail: string
  /** Sockets that ended without a READY or RESUMED, in a row. */
  readonly failures: number
  readonly gateway: protocol.GatewayState
  /** The dispatch that could not be accepted, and how often. */
  readonly rejected?: { readonly seq: number | null; readonly times: number }
}

/** Of a bot that may begin no more sessions today. */
const minLimitPauseMs = 30_000
const maxRejections = 5
/** Then the address to resume at may be the reason. */
const maxResumeFailures = 3
const maxCachedChannels = 1_000
export const gatewayKey = 'gateway'

export class GatewaySocket {
  readonly #state: ReceiverState
  readonly #env: Env
  #stored: StoredGateway | undefined
  #socket: WebSocket | undefined
  /** Changes when the socket is closed, also by `start` and `stop`. Work that was waiting then must change nothing. */
  #epoch = 0
  #opening: Promise<void> | undefined
  #stopHeartbeat: () => void = () => undefined
  #isAcknowledged = true
  /** Frames are handled one after another. */
  #frames: Promise<void> = Promise.resolve()
  readonly #roles = new OwnRoles()
  readonly #channels = new Map<string, GatewayRequest['channel']>()

  constructor(state: ReceiverState, env: Env) {
    this.#state = state
    this.#env = env
    this.#stored = state.read<StoredGateway>()
  }

  /** `resumed`: a session that began in another object. */
  async start(owner: ReceiverOwner, resumed?: protocol.GatewayState): Promise<void> {
    // Its secrets may be new.
    forgetConnection(owner.id)
    const gateway = resumed ?? this.#stored?.gateway ?? protocol.newGatewayState
    this.#closeSocket(protocol.resumableClose)
    this.#store({ owner, status: 'running', detail: 'connecting', failures: 0, gateway })
    await this.#arm(0)
  }

  async stop(detail: string): Promise<void> {
    const stored = this.#stored
    if (stored) this.#store({ ...stored, status: 'stopped', detail })
    this.#closeSocket(1_000)
    await this.#state.deleteAlarm()
  }

  getStatus(): ReceiverStatus {
    const { status = 'stopped', detail = '' } = this.#stored ?? {}
    return { status, detail, isOpen: this.#socket !== undefined }
  }

  /** Arms the next alarm first, so that nothing can leave the socket closed. */
  async handleAlarm(): Promise<void> {
    if (this.#stored?.status !== 'running') return
    await this.#arm(watchMs)
    if (this.#socket) return this.#checkConnection()
    await (this.#opening ??= this.#open())
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
    const isCurrent = this.#currentEpoch()
    try {
      const connection = await this.#loadConnection()
      const found = connection && (await this.#findAddress(connection))
      if (!found || !isCurrent()) return
      if (found.kind === 'stop') return await this.stop(found.detail)
      if (found.kind === 'retry') return await this.#retry(found)
      const socket = await openSocket(found.address)
      socket.accept()
      if (isCurrent()) this.#listen(socket, connection.secrets['bot_token'] ?? '')
      else socket.close(protocol.resumableClose, '')
    } catch (error) {
      log.warn('gateway.open_failed', 'The gateway of Discord could not be opened.', { error })
      if (isCurrent()) await this.#retry({ detail: 'the gateway could not be opened' })
    } finally {
      if (isCurrent()) this.#opening = undefined
    }
  }

  /** A connection that was removed, paused, or lost its secrets ends the socket for good. */
  async #loadConnection(): Promise<LoadedConnection | undefined> {
    const isCurrent = this.#currentEpoch()
    const connection = await loadOwn(this.#env, this.#stored?.owner)
    if (connection?.status === 'active') return connection
    if (isCurrent()) await this.stop('the connection was paused or removed')
    return undefined
  }

  #currentEpoch(): () => boolean {
    const epoch = this.#epoch
    return () => epoch === this.#epoch
  }

  async #findAddress(connection: LoadedConnection): Promise<FoundAddress> {
    const isOfficial = connection.apiBase === discord.apiBase.url
    const resumeUrl = this.#stored?.gateway.session?.resumeUrl
    const isUsable = resumeUrl !== undefined && (this.#stored?.failures ?? 0) < maxResumeFailures
    const address = isUsable ? protocol.socketAddress(resumeUrl, isOfficial) : undefined
    if (address !== undefined) return { kind: 'found', address }
    const answer = await callDiscord(connection, { method: 'GET', path: 'gateway/bot' })
    if (answer.kind === 'done') return readAddress(answer.result, isOfficial)
    const { kind, detail } = answer.outcome
    return { kind: kind === 'forbidden' ? 'stop' : 'retry', detail }
  }

  #listen(socket: WebSocket, token: string): void {
    this.#socket = socket
    this.#isAcknowledged = true
    const isCurrent = this.#currentEpoch()
    const enqueue = (handle: () => Promise<void>) => {
      this.#frames = this.#frames.then(() => (isCurrent() ? handle() : undefined))
    }
    socket.addEventListener('message', ({ data }) => enqueue(() => this.#handleFrame(String(data), token)))
    socket.addEventListener('close', ({ code }) => enqueue(() => this.#handleClose(code)))
    socket.addEventListener('error', () => enqueue(() => this.#handleClose(1_006)))
  }

  /** Never rejects: the queue of frames must go on. */
  async #handleFrame(text: string, token: string): Promise<void> {
    const stored = this.#stored
    if (!stored) return
    const isCurrent = this.#currentEpoch()
    try {
      await this.#perform(protocol.readFrame(text, stored.gateway), stored.gateway, token)
    } catch (error) {
      log.warn('gateway.frame_failed', 'A frame of the gateway could not be handled.', { error })
      if (isCurrent()) await this.#reconnect(stored.gateway, this.#pauseAfter(stored.failures))
    }
  }

  async #perform(step: protocol.GatewayStep, gateway: protocol.GatewayState, token: string): Promise<void> {
    switch (step.kind) {
      case 'ignore':
        return
      case 'hello':
        this.#startHeartbeat(step.heartbeatMs)
        return this.#send(protocol.renderOpening(token, gateway))
      case 'heartbeat-requested':
        return this.#send(protocol.renderHeartbeat(gateway))
      case 'heartbeat-acknowledged':
        this.#isAcknowledged = true
        return
      case 'reconnect':
        return this.#reconnect(step.state, step.pauseMs)
      case 'dispatch':
        return this.#handleDispatch(step)
    }
  }

  async #handleDispatch({ type, data, state }: Extract<protocol.GatewayStep, { kind: 'dispatch' }>): Promise<void> {
    const isCurrent = this.#currentEpoch()
    const isOpening = type === 'READY' || type === 'RESUMED'
    const isAccepted = !type.startsWith('MESSAGE_') || (await this.#accept(type, data, state))
    const stored = this.#stored
    // The next socket gets a dispatch again whose number is not stored.
    if (!stored || !isCurrent()) return
    if (!isAccepted) return this.#reject(state.seq, stored)
    const { rejected: _rejected, ...rest } = stored
    this.#store({ ...rest, gateway: state, ...(isOpening && { failures: 0, detail: 'connected' }) })
  }

  /** Returns false when the dispatch must come again. */
  async #accept(type: string, data: unknown, { userId }: protocol.GatewayState): Promise<boolean> {
    const connection = await this.#loadConnection()
    if (!connection) return true
    const bots = [userId, connection.secrets['application_id']].flatMap((id) => id ?? [])
    const url = new URL(connection.webhookUrl)
    const context = { env: this.#env, runInBackground: (work: Promise<unknown>) => this.#state.waitUntil(work) }
    try {
      const channel = await this.#findChannel(connection, data)
      const roles = await this.#roles.find(connection, data, userId)
      const dispatch: GatewayRequest = { type, data, bots, roles, ...(channel && { channel }) }
      const body = new TextEncoder().encode(JSON.stringify(dispatch))
      const request = { method: 'GATEWAY', url, headers: new Headers(), body, receivedAt: clock.now() }
      return (await acceptRequest(context, connection, request)).ok
    } catch (error) {
      log.warn('gateway.event_failed', 'An event of the gateway could not be accepted, and is asked for again.', {
        error,
      })
      return false
    }
  }

  /** Resuming makes Discord send it again. One that never succeeds must not block all others. */
  async #reject(seq: number | null, stored: StoredGateway): Promise<void> {
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
    if (answer.kind === 'failed') {
      const { kind, detail } = answer.outcome
      // As a channel of its own, a thread would be ignored or reach another session. The dispatch comes again.
      if (kind === 'retry' || kind === 'ambiguous') throw new Error(`The channel of a message is unknown: ${detail}`)
      return undefined
    }
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
      if (!this.#isAcknowledged) return this.#state.waitUntil(this.#reconnect(gateway, 0))
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

  async #retry({ detail, pauseMs }: { readonly detail: string; readonly pauseMs?: number }): Promise<void> {
    const stored = this.#stored
    if (stored?.status !== 'running') return
    this.#store({ ...stored, detail, failures: stored.failures + 1 })
    await this.#arm(pauseMs ?? this.#pauseAfter(stored.failures))
  }

  /** The first socket that ends is replaced at once. */
  #pauseAfter = (failures: number): number => (failures === 0 ? 0 : pauseAfter(failures))

  #closeSocket(code: number): void {
    this.#epoch++
    this.#opening = undefined
    this.#stopHeartbeat()
    const socket = this.#socket
    this.#socket = undefined
    closeQuietly(socket, code)
  }

  #store(stored: StoredGateway): void {
    this.#stored = stored
    this.#state.write(stored)
  }

  #arm = (pauseMs: number): Promise<void> => this.#state.setAlarm(clock.now() + pauseMs)
}

function readAddress(result: Readonly<Record<string, unknown>>, isOfficial: boolean): FoundAddress {
  const limits = (result['session_start_limit'] ?? {}) as { readonly remaining?: number; readonly reset_after?: number }
  if (limits.remaining === 0) {
    const pauseMs = Math.max(Number(limits.reset_after) || 0, minLimitPauseMs)
    return { kind: 'retry', detail: 'Discord allows no more new sessions today', pauseMs }
  }
  const address = protocol.socketAddress(String(result['url']), isOfficial)
  return address === undefined
    ? { kind: 'retry', detail: 'Discord named no usable gateway' }
    : { kind: 'found', address }
}

const mentioning = z.object({ guild_id: z.string().regex(/^\d{1,20}$/), mention_roles: z.array(z.string()).min(1) })
const member = z.object({ roles: z.array(z.string()) })

const maxServers = 1_000
/** The bot may be given other roles. */
const freshMs = 600_000

/**
 * Finds the roles of a Discord bot in a server. Discord gives each bot a role with its name, so people mention the role
 * where they mean the bot.
 */
class OwnRoles {
  readonly #known = new BoundedMap<string, { readonly at: number; readonly roles: string[] }>(maxServers)

  /** Empty for a message that mentions no role. Rejects while Discord does not answer. */
  async find(connection: ChannelConnection, data: unknown, userId: string | undefined): Promise<string[]> {
    const server = mentioning.safeParse(data).data?.guild_id
    if (server === undefined || userId === undefined) return []
    const known = this.#known.get(server)
    if (known && clock.now() - known.at < freshMs) return known.roles
    const answer = await callDiscord(connection, { method: 'GET', path: `guilds/${server}/members/${userId}` })
    const { kind, detail } = answer.kind === 'failed' ? answer.outcome : { kind: 'sent', detail: '' }
    if (kind === 'retry' || kind === 'ambiguous')
      throw new Error(`Discord does not tell the roles of the bot: ${detail}`)
    const roles = (answer.kind === 'done' && member.safeParse(answer.result).data?.roles) || []
    this.#known.set(server, { at: clock.now(), roles })
    return roles
  }
}
