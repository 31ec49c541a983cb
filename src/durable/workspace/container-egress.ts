/**
 * Receives the requests of a native container, and forwards those to allowed public hosts. The SDK does the same with its
 * `ContainerProxy`.
 */

import { WorkerEntrypoint } from 'cloudflare:workers'
import { checkPublicAddress } from '#agent/policy/network/network-address.ts'
import { matchesWildcard } from '#agent/policy/wildcard.ts'
import { type EgressVariables, injectKey } from '#backends/cloudflare/egress.ts'
import type { EgressProps } from './sandbox-object.ts'

export class ContainerEgress extends WorkerEntrypoint<Env & EgressVariables, EgressProps> {
  override fetch(request: Request): Promise<Response> | Response {
    const { egress } = this.ctx.props
    const { hostname } = new URL(request.url)
    const isAllowed =
      egress.hosts.some((host) => matchesWildcard(host, hostname)) && checkPublicAddress(request.url) === undefined
    if (!isAllowed) return new Response(`The host ${hostname} is not allowed for this sandbox.\n`, { status: 403 })
    return fetch(injectKey(request, { tenant: egress.tenant }, this.env))
  }
}
