/** Defines the parts that the routes of channels and of webhooks share. */

import type * as z from 'zod'
import { actorOf } from '#agent/core/permission/audit.ts'
import { type Connection, type Connections, createConnections } from '#db/channel-connections.ts'
import { type RouteCall, route, type ApiRoute } from '../route.ts'
import { ok } from '../shapes.ts'
import type { PathParam } from '../openapi/path-params.ts'

export type ConnectionCall = Pick<RouteCall<unknown, unknown>, 'env' | 'web' | 'authority' | 'tenant' | 'param'>

/** The connections of the tenant. Changes are in the audit log under the name of the caller. */
export const connectionsOf = ({ env, tenant, authority }: ConnectionCall): Connections =>
  createConnections(env.DB, tenant.id, actorOf(authority))

/** The address to which a platform or a service sends its events. */
export function createWebhookUrl(
  { env, web }: ConnectionCall,
  { platform, id }: Pick<Connection, 'platform' | 'id'>,
): string {
  const origin = (env.PUBLIC_URL || new URL(web.req.url).origin).replace(/\/{1,20}$/, '')
  return `${origin}/webhooks/${platform}/${id}`
}

export const newConnectionId = (prefix: 'ch' | 'wh'): string => `${prefix}_${crypto.randomUUID().replaceAll('-', '')}`

type StatusRoutes = {
  /** The path of one connection. */
  readonly path: string
  /** The last word of the ids of the operations. */
  readonly name: 'Channel' | 'Webhook'
  readonly param: PathParam
  readonly tag: string
  /** How summaries name a connection. */
  readonly noun: string
  readonly shape: z.ZodType
  readonly update: (call: ConnectionCall, status: Connection['status']) => Promise<object>
}

/** The routes that pause and resume a connection. */
export function statusRoutes({ path, name, param, tag, noun, shape, update }: StatusRoutes): readonly ApiRoute[] {
  const statusRoute = (verb: 'pause' | 'resume', summary: string) =>
    route({
      method: 'post',
      path: `${path}/${verb}`,
      id: `${verb}${name}`,
      params: { id: param },
      scope: 'write',
      tag,
      summary,
      responses: ok(`The ${noun}`, shape),
      handle: async (call) => Response.json(await update(call, verb === 'pause' ? 'paused' : 'active')),
    })
  return [
    statusRoute('pause', `Ignore events until the ${noun} is resumed`),
    statusRoute('resume', 'Accept events again'),
  ]
}
