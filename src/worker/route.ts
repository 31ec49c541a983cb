/**
 * Defines a route as one record of method, path, scope, schemas and handler. The record mounts the route, validates its
 * requests and becomes its entry in the OpenAPI document.
 */

import type { Context, Hono } from 'hono'
import * as z from 'zod'
import type { Authority, Scope } from '#agent/core/permission/authority.ts'
import type { Identity } from '#agent/core/permission/roles.ts'
import { type LogIds, logIdsOf, noteLogIds } from '#durable/platform/log-context.ts'
import { fetchTenantSnapshot, type TenantSnapshot } from '#durable/tenant/tenant-snapshot.ts'
import { requireAccess, requireUnlimitedRole } from './access.ts'
import { authenticate, requireScope } from './auth.ts'
import type { ErrorKind } from './openapi/error-responses.ts'
import type { PathParam } from './openapi/path-params.ts'
import { halfEscape, parseJson, readText, requireWholeText, validate } from './input/body.ts'
import type { RequestHeader } from './headers.ts'
import { requireRequestAdmission } from './limits.ts'

export type HttpMethod = 'get' | 'post' | 'put' | 'patch' | 'delete'
export type AppEnv = { Bindings: Env; Variables: { requestId: string } }
export type App = Hono<AppEnv>
export type RequestContext = Context<AppEnv>

export type RouteCall<Query, Body> = {
  readonly web: RequestContext
  readonly env: Env
  /** Of the key that sent the request. */
  readonly authority: Authority
  readonly tenant: TenantSnapshot
  readonly query: Query
  readonly body: Body
  /** The unparsed body, which idempotency keys hash. */
  readonly bodyText: string
  readonly param: (name: string) => string
}

export type ApiRoute = {
  readonly method: HttpMethod
  /** In Hono's syntax. */
  readonly path: string
  /** The id of the operation, which generated clients use as the name of a method: the verb first. */
  readonly id: string
  /** The parts of the path, by name. */
  readonly params?: Readonly<Record<string, PathParam>>
  readonly scope: Scope
  /** It changes what acts in all sessions. A role that limits tools or risks may not use it. */
  readonly isTenantWide?: true
  readonly summary: string
  /** Markdown. Default: the summary. */
  readonly description?: string
  /** A body of a request. Default: its required fields. */
  readonly example?: object
  /** Errors that neither the schemas nor the scope imply. */
  readonly errors?: readonly ErrorKind[]
  readonly tag: string
  readonly query?: z.ZodType
  readonly body?: z.ZodType
  readonly headers?: readonly RequestHeader[]
  /** The body is raw bytes, not JSON. */
  readonly bytes?: boolean
  /** `type`: the media types of an answer that the schema does not describe. */
  readonly responses: Readonly<
    Record<
      number,
      { readonly description: string; readonly schema?: z.ZodType; readonly type?: string | readonly string[] }
    >
  >
  readonly mount: (app: App) => void
}

/** A route without a key. Its handler verifies the sender itself, or its content is public. */
export type OpenRoute = Omit<ApiRoute, 'scope'> & { readonly scope: null }

type RouteDefinition<Query extends z.ZodType, Body extends z.ZodType> = Omit<ApiRoute, 'mount' | 'query' | 'body'> & {
  readonly query?: Query
  readonly body?: Body
  readonly handle: (call: RouteCall<z.infer<Query>, z.infer<Body>>) => Promise<Response>
}

const noQuery = z.object({})
const noBody = z.undefined()

export function route<Query extends z.ZodType = typeof noQuery, Body extends z.ZodType = typeof noBody>(
  definition: RouteDefinition<Query, Body>,
): ApiRoute {
  const { handle, ...described } = definition
  return {
    ...described,
    mount: (app) => {
      // A named wildcard would make Hono use a slower router for all routes.
      const path = definition.path.replace(/:\w+\{\.\*\}(?:\/\w+)?$/, '*')
      const serve = async (web: RequestContext): Promise<Response> => {
        const known = await authenticate(web.req.raw, web.env, (work) => web.executionCtx.waitUntil(work))
        const identity: Identity = { ...known, requestId: web.get('requestId') }
        noteLogIds({ ...logIdsOf(identity), ...logIdsOfPath(definition.path, (name) => web.req.param(name)) })
        return answer(web, identity)
      }
      const answer = async (web: RequestContext, identity: Identity): Promise<Response> => {
        const tenant = await fetchTenantSnapshot(web.env, identity.tenantId)
        const authority = requireAccess(tenant, identity)
        requireScope(authority, definition.scope)
        if (definition.isTenantWide) requireUnlimitedRole(authority)
        await requireRequestAdmission(web.env, tenant, authority)
        const query = (definition.query ? validate(definition.query, web.req.query(), 'query') : {}) as z.infer<Query>
        const bodyText = definition.body ? await readText(web.req.raw) : ''
        const given = definition.body && bodyText.trim() ? parseJson(bodyText) : {}
        if (path.startsWith('/api/') && halfEscape.test(bodyText)) requireWholeText(given)
        const body = (definition.body ? validate(definition.body, given) : undefined) as z.infer<Body>
        const param = (name: string) => web.req.param(name) ?? ''
        return handle({ web, env: web.env, authority, tenant, query, body, bodyText, param })
      }
      app.on(definition.method.toUpperCase(), path, serve)
    },
  }
}

/** The session and the run that a path names. */
function logIdsOfPath(path: string, param: (name: string) => string | undefined): LogIds {
  if (path.startsWith('/v1/runs/:id')) return { run_id: param('id') }
  if (!path.startsWith('/api/sessions/:id')) return {}
  return { session_id: param('id'), ...(path.includes('/:run') && { run_id: param('run') }) }
}
