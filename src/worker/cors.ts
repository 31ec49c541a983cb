/** Other origins get in only when CORS_ORIGINS names them. */

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
    // Every header that is asked for: SDKs send a dozen of their own, and only the key decides.
    exposeHeaders: [
      'x-talaria-session-id',
      'x-hermes-session-id',
      'x-talaria-run-id',
      'idempotency-replayed',
      'retry-after',
      'content-disposition',
    ],
    maxAge: 600,
  })(context, next)
}
