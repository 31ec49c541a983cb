/** Refuses requests that this deployment has sent itself: an agent that calls its own API could start turns without end. */

import type { MiddlewareHandler } from 'hono'
import { isOwnRequest } from '#durable/platform/loop-mark.ts'
import { AppError } from './errors.ts'

export const refuseLoops: MiddlewareHandler<{ Bindings: Env }> = async ({ req, env }, next) => {
  if (await isOwnRequest(req.raw.headers, env))
    throw new AppError(508, 'loop_detected', 'An agent of this deployment may not call its own API.')
  return next()
}
