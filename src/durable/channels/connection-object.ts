/**
 * Defines the Durable Object that keeps the socket of a connection whose platform does not send messages by webhook
 * (Discord). Its code is loaded with its first use.
 */

import { DurableObject } from 'cloudflare:workers'
import { withLogContext } from '#durable/platform/log-context.ts'
import { inJurisdiction } from '#durable/platform/jurisdiction.ts'
import { redactLogs } from '#durable/platform/log-redaction.ts'
import type { GatewaySocket } from './gateway-socket.ts'

export class ConnectionDO extends DurableObject<Env> {
  #socket: Promise<GatewaySocket> | undefined

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, inJurisdiction(env))
    redactLogs(env)
  }

  /** Opens the socket, and keeps it open until `stop`. */
  async start(connection: { readonly id: string; readonly tenantId: string }): Promise<void> {
    await this.#logged(async () => (await this.#load()).start(connection))
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

  #load(): Promise<GatewaySocket> {
    return (this.#socket ??= import('./gateway-socket.ts').then(
      ({ GatewaySocket: Socket }) => new Socket(this.ctx, this.env),
    ))
  }
}
