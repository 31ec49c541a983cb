/**
 * A route is written down once: method, path, scope, schemas and what it does. The same record
 * validates the request and makes the entry in the OpenAPI document.
 */

import type { Context, Hono } from 'hono'
import * as z from 'zod'
import type { Scope } from '../db/schema.ts'
import { tenantSnapshot, type TenantSnapshot } from '../durable/tenant/tenant-snapshot.ts'
import { authenticate, type Principal, requireScope } from './auth.ts'
import { check, parseJson, readText } from './body.ts'
import type { RequestHeader } from './headers.ts'
import { limitRequests } from './limits.ts'

export type Method = 'get' | 'post' | 'put' | 'patch' | 'delete'
export type App = Hono<{ Bindings: Env }>
export type Web = Context<{ Bindings: Env }>

export type Call<Query, Body> = {
  readonly web: Web
  readonly env: Env
  readonly principal: Principal
  readonly tenant: TenantSnapshot
  readonly query: Query
  readonly body: Body
  /** The body as it came, for idempotency keys. */
  readonly bodyText: string
  readonly param: (name: string) => string
}

export type Route = {
  readonly method: Method
  /** Hono's notation. */
  readonly path: string
  readonly scope: Scope
  readonly summary: string
  readonly tag: string
  readonly query?: z.ZodType
  readonly body?: z.ZodType
  readonly headers?: readonly RequestHeader[]
  /** The body is bytes, not JSON. */
  readonly bytes?: boolean
  readonly responses: Readonly<
    Record<number, { readonly description: string; readonly schema?: z.ZodType; readonly type?: string }>
  >
  readonly mount: (app: App) => void
}

/** Needs no key: whoever asks proves otherwise who they are. */
export type OpenRoute = Omit<Route, 'scope'> & { readonly scope: null }

type Definition<Query extends z.ZodType, Body extends z.ZodType> = Omit<Route, 'mount' | 'query' | 'body'> & {
  readonly query?: Query
  readonly body?: Body
  readonly handle: (call: Call<z.infer<Query>, z.infer<Body>>) => Promise<Response>
}

const noQuery = z.object({})
const noBody = z.undefined()

export function route<Query extends z.ZodType = typeof noQuery, Body extends z.ZodType = typeof noBody>(
  definition: Definition<Query, Body>,
): Route {
  const { handle, ...described } = definition
  return {
    ...described,
    mount: (app) => {
      // A named wildcard would make the router fall back to a slower one for all routes.
      const path = definition.path.replace(/:\w+\{\.\*\}$/, '*')
      const serve = async (web: Web): Promise<Response> => {
        const principal = await authenticate(web.req.raw, web.env, (work) => web.executionCtx.waitUntil(work))
        requireScope(principal, definition.scope)
        const tenant = await tenantSnapshot(web.env, principal.tenantId)
        await limitRequests(web.env, tenant)
        const query = (definition.query ? check(definition.query, web.req.query(), 'query') : {}) as z.infer<Query>
        const bodyText = definition.body ? await readText(web.req.raw) : ''
        const body = (
          definition.body ? check(definition.body, bodyText.trim() ? parseJson(bodyText) : {}) : undefined
        ) as z.infer<Body>
        const param = (name: string) => web.req.param(name) ?? ''
        return handle({ web, env: web.env, principal, tenant, query, body, bodyText, param })
      }
      app.on(definition.method.toUpperCase(), path, serve)
    },
  }
}
