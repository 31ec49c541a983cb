/**
 * Defines the Durable Object that receives the messages of a connection whose platform does not send them by webhook: it
 * keeps a socket (Slack), asks for them (Telegram), fetches them when the platform rings (Matrix), or has its socket in an object that several bots share (Discord). The
 * code of each is loaded with its first use.
 */

import { DurableObject } from 'cloudflare:workers'
import { withLogContext } from '#durable/platform/log-context.ts'
import { inJurisdiction } from '#durable/platform/jurisdiction.ts'
import { redactLogs } from '#durable/platform/log-redaction.ts'
import { isCall, isGatewayBots } from '#durable/platform/addresses.ts'
import type { GatewayState } from '#channels/discord/gateway-protocol.ts'
import type { GatewayBots, GatewayPlace } from './gateway-bots.ts'
import type { ReceivingBy } from './keep-socket.ts'
import type { EventSocket } from './event-socket.ts'
import type { ReceiverOwner } from './receiver.ts'
import type { EventPuller } from './event-puller.ts'
import type { CallIdentity } from '#channels/channel.ts'
import type { CallOrder, PhoneCall } from './phone-call.ts'
import type { UpdatePoller } from './update-poller.ts'

type Receiver = GatewayPlace | EventSocket | UpdatePoller | EventPuller

type StartedConnection = { readonly id: string; readonly tenantId: string; readonly by?: ReceivingBy }

export class ConnectionDO extends DurableObject<Env> {
  #receiver: Promise<Receiver> | undefined
  #bots: Promise<GatewayBots> | undefined
  #call: Promise<PhoneCall> | undefined

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, inJurisdiction(env))
    redactLogs(env)
  }

  /** Receives until `stop`. `by` never changes for a connection; absent from code before polling. */
  async start({ by, ...owner }: StartedConnection): Promise<void> {
    await this.#logged(async () => (await this.#load(by)).start(owner))
  }

  /** The platform has events for the connection. */
  async ring(owner: ReceiverOwner): Promise<void> {
    await this.#logged(async () => {
      const receiver = await this.#load('pull')
      if ('ring' in receiver) await receiver.ring(owner)
    })
  }

  async stop(): Promise<void> {
    await this.#logged(async () => (await this.#load()).stop('the connection was paused or removed'))
  }

  async getStatus() {
    return (await this.#load()).getStatus()
  }

  override async alarm(): Promise<void> {
    if (isCall(this.ctx.id.name)) return this.#logged(async () => (await this.#loadCall()).handleAlarm())
    const load = () => (isGatewayBots(this.ctx.id.name) ? this.#loadBots() : this.#load())
    await this.#logged(async () => (await load()).handleAlarm())
  }

  // --- the object of a telephone call

  async orderCall(call: CallIdentity & { readonly owner: ReceiverOwner }, order: CallOrder): Promise<boolean> {
    return this.#logged(async () => (await this.#loadCall()).order(call, order))
  }

  /** The order of a call that has no id yet. */
  async waitingOrder(isTaken: boolean): Promise<CallOrder | undefined> {
    return this.#logged(async () => (await this.#loadCall()).waitingOrder(isTaken))
  }

  override async fetch(request: Request): Promise<Response> {
    return this.#logged(async () => (await this.#loadCall()).open(request))
  }

  override async webSocketMessage(socket: WebSocket, frame: string | ArrayBuffer): Promise<void> {
    await this.#logged(async () => (await this.#loadCall()).receive(socket, frame))
  }

  override async webSocketClose(socket: WebSocket): Promise<void> {
    await this.#logged(async () => (await this.#loadCall()).handleClose(socket))
  }

  #loadCall(): Promise<PhoneCall> {
    return (this.#call ??= import('./phone-call.ts').then(({ PhoneCall: Call }) => new Call(this.ctx, this.env)))
  }

  // --- an object that keeps the sockets of several bots

  async admitBot(owner: ReceiverOwner, gateway?: GatewayState): Promise<boolean> {
    return this.#logged(async () => (await this.#loadBots()).admit(owner, gateway))
  }

  async watchBot(owner: ReceiverOwner): Promise<boolean> {
    return this.#logged(async () => (await this.#loadBots()).watch(owner))
  }

  async releaseBot(id: string, detail: string): Promise<void> {
    await this.#logged(async () => (await this.#loadBots()).release(id, detail))
  }

  async botStatus(id: string) {
    return (await this.#loadBots()).getStatus(id)
  }

  #loadBots(): Promise<GatewayBots> {
    return (this.#bots ??= import('./gateway-bots.ts').then(({ GatewayBots: Bots }) => new Bots(this.ctx, this.env)))
  }

  /** Log entries have the tenant, which the name of the object (`t/TENANT/c/ID`) begins with. */
  #logged<T>(work: () => Promise<T>): Promise<T> {
    const [, tenantId] = this.ctx.id.name?.split('/') ?? []
    return withLogContext(() => ({ tenant_id: tenantId }), work)
  }

  #load(by?: ReceivingBy): Promise<Receiver> {
    return (this.#receiver ??= this.#open(by ?? this.ctx.storage.kv.get<ReceivingBy>('by') ?? 'gateway'))
  }

  async #open(by: ReceivingBy): Promise<Receiver> {
    if (by === 'gateway') return new (await import('./gateway-bots.ts')).GatewayPlace(this.ctx, this.env)
    this.ctx.storage.kv.put('by', by)
    if (by === 'socket') return new (await import('./event-socket.ts')).EventSocket(this.ctx, this.env)
    if (by === 'pull') return new (await import('./event-puller.ts')).EventPuller(this.ctx, this.env)
    return new (await import('./update-poller.ts')).UpdatePoller(this.ctx, this.env)
  }
}
