/** Creates an application with the middlewares of every request. */

import { type Context, Hono, type MiddlewareHandler } from 'hono'
import { getPath } from 'hono/utils/url'
import { AppError, renderError } from '../errors.ts'
import type { App, AppEnv, OpenRoute, ApiRoute } from '../route.ts'
import { isOwnRequest } from '#durable/platform/loop-mark.ts'
import { cors as honoCors } from 'hono/cors'
import { withLogContext } from '#durable/platform/log-context.ts'
import { redactLogs } from '#durable/platform/log-redaction.ts'

export function createHono(routes: readonly (ApiRoute | OpenRoute)[]): App {
  const app: App = new Hono({ getPath: normalizePath })
  app.onError(renderError)
  app.use(assignRequestId)
  app.use(cors)
  app.use(refuseLoops)
  for (const route of routes) route.mount(app)
  return app
}

/** Accepts base addresses that end with a slash or repeat /v1, because clients append their paths to them. */
export function normalizePath(request: Request): string {
  const path = getPath(request)
  if (!/^\/+v1\//.test(path)) return path
  const single = path.replace(/\/{2,}/g, '/').replace(/^(?:\/v1)+(?=\/)/, '/v1')
  return single.endsWith('/') ? single.slice(0, -1) : single
}

/** Refuses requests that this deployment has sent itself: an agent that calls its own API could start turns without end. */
const refuseLoops: MiddlewareHandler<{ Bindings: Env }> = async ({ req, env }, next) => {
  if (await isOwnRequest(req.raw.headers, env))
    throw new AppError(508, 'loop_detected', 'An agent of this deployment may not call its own API.')
  return next()
}

/** Allows requests from the origins that CORS_ORIGINS names, and from no others. */
const cors: MiddlewareHandler<{ Bindings: Env }> = async (context, next) => {
  const allowed = (context.env.CORS_ORIGINS ?? '')
    .split(',')
    .map((origin) => origin.trim())
    .filter(Boolean)
  if (!allowed.length) return next()
  return honoCors({
    origin: allowed.includes('*') ? '*' : allowed,
    allowMethods: ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'],
    // All request headers are allowed: SDKs send many of their own, and only the key grants access.
    exposeHeaders: [
      'x-talaria-session-id',
      'x-hermes-session-id',
      'x-talaria-run-id',
      'x-request-id',
      'idempotency-replayed',
      'retry-after',
      'content-disposition',
    ],
    maxAge: 600,
  })(context, next)
}

const header = 'x-request-id'
const validId = /^[\w.:-]{1,128}$/

/** Gives every request an id: that of the header `X-Request-Id`, or a new one. The response and the log have it too. */
const assignRequestId: MiddlewareHandler<AppEnv> = async (context, next) => {
  const given = context.req.header(header) ?? ''
  const id = validId.test(given) ? given : crypto.randomUUID()
  context.set('requestId', id)
  redactLogs(context.env)
  await withLogContext(() => ({ request_id: id }), next)
  // A response that upgrades to a socket cannot be copied.
  if (context.res.status !== 101) addHeaders(context, id)
}

/** Headers of responses from objects and of static files cannot be changed. */
function addHeaders(context: Context<AppEnv>, id: string): void {
  try {
    setHeaders(context.res.headers, id)
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    const copy = new Response(context.res.body, context.res)
    setHeaders(copy.headers, id)
    context.res = copy
  }
}

/** Without a word browsers keep a file for a tenth of its age, and show it when it has changed since. */
function setHeaders(headers: Headers, id: string): void {
  headers.set(header, id)
  if (!headers.has('cache-control')) headers.set('cache-control', 'private, no-cache')
}
