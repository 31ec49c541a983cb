/**
 * Defines the Durable Object that keeps the socket of a connection whose platform does not send messages by webhook
 * (Discord). Its code is loaded with its first use.
 */

import { DurableObject } from 'cloudflare:workers'
import { redactLogs } from '#durable/platform/log-redaction.ts'
import type { GatewaySocket } from './gateway-socket.ts'

export class ConnectionDO extends DurableObject<Env> {
  #socket: Promise<GatewaySocket> | undefined

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env)
    redactLogs(env)
  }

  /** Opens the socket, and keeps it open until `stop`. */
  async start(connection: { readonly id: string; readonly tenantId: string }): Promise<void> {
    await (await this.#load()).start(connection)
  }

  async stop(): Promise<void> {
    await (await this.#load()).stop('the connection was paused or removed')
  }

  async getStatus() {
    return (await this.#load()).getStatus()
  }

  override async alarm(): Promise<void> {
    await (await this.#load()).handleAlarm()
  }

  #load(): Promise<GatewaySocket> {
    return (this.#socket ??= import('./gateway-socket.ts').then(
      ({ GatewaySocket: Socket }) => new Socket(this.ctx, this.env),
    ))
  }
}
