/** Gives every request an id: that of the header `X-Request-Id`, or a new one. The response and the log have it too. */

import type { MiddlewareHandler } from 'hono'
import { withLogContext } from '#durable/platform/log-context.ts'
import { redactLogs } from '#durable/platform/log-redaction.ts'
import type { AppEnv } from './route.ts'

const header = 'x-request-id'
const validId = /^[\w.:-]{1,128}$/

export const assignRequestId: MiddlewareHandler<AppEnv> = async (context, next) => {
  const given = context.req.header(header) ?? ''
  const id = validId.test(given) ? given : crypto.randomUUID()
  context.set('requestId', id)
  redactLogs(context.env)
  await withLogContext(() => ({ request_id: id }), next)
  // A response that upgrades to a socket cannot be copied.
  if (context.res.status !== 101) context.res = withHeader(context.res, id)
}

/** Headers of responses from objects and of static files cannot be changed. */
function withHeader(response: Response, id: string): Response {
  try {
    response.headers.set(header, id)
    return response
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    const copy = new Response(response.body, response)
    copy.headers.set(header, id)
    return copy
  }
}
