/** Allows requests from the origins that CORS_ORIGINS names, and from no others. */

import type { MiddlewareHandler } from 'hono'
import { cors as honoCors } from 'hono/cors'

export const cors: MiddlewareHandler<{ Bindings: Env }> = async (context, next) => {
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
