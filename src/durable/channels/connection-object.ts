/**
 * Defines the Durable Object that receives the messages of a connection whose platform does not send them by webhook: it
 * keeps a socket (Discord), or asks for them (Telegram). The code of either is loaded with its first use.
 */

import { DurableObject } from 'cloudflare:workers'
import { withLogContext } from '#durable/platform/log-context.ts'
import { inJurisdiction } from '#durable/platform/jurisdiction.ts'
import { redactLogs } from '#durable/platform/log-redaction.ts'
import type { GatewaySocket } from './gateway-socket.ts'
import type { ReceivingBy } from './keep-socket.ts'
import type { UpdatePoller } from './update-poller.ts'

type Receiver = GatewaySocket | UpdatePoller

type StartedConnection = { readonly id: string; readonly tenantId: string; readonly by?: ReceivingBy }

export class ConnectionDO extends DurableObject<Env> {
  #receiver: Promise<Receiver> | undefined

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, inJurisdiction(env))
    redactLogs(env)
  }

  /** Receives until `stop`. `by` never changes for a connection; absent from code before polling. */
  async start({ by, ...owner }: StartedConnection): Promise<void> {
    await this.#logged(async () => (await this.#load(by)).start(owner))
  }

  async stop(): Promise<void> {
    await this.#logged(async () => (await this.#load()).stop('the connection was paused or removed'))
  }

  async getStatus() {
    return (await this.#load()).getStatus()
  }

  override async alarm(): Promise<void> {
    await this.#logged(async () => (await this.#load()).handleAlarm())
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
    if (by === 'gateway') return new (await import('./gateway-socket.ts')).GatewaySocket(this.ctx, this.env)
    this.ctx.storage.kv.put('by', by)
    return new (await import('./update-poller.ts')).UpdatePoller(this.ctx, this.env)
  }
}
