/** Names the client of a request for its session, and tells the session when the client goes away: its run stops then. */

import type { SessionDO } from '#durable/session/session-object.ts'
import type { RequestIds } from './idempotency.ts'
import type { RouteCall } from './route.ts'

/**
 * Undefined for a request with an idempotency key: its client can ask again for the answer. Streams tell their session
 * themselves, too, when a write fails.
 */
export function nameClient(
  { web, authority }: Pick<RouteCall<unknown, unknown>, 'web' | 'authority'>,
  session: DurableObjectStub<SessionDO>,
  { repeatable }: RequestIds,
): string | undefined {
  if (repeatable) return undefined
  const client = crypto.randomUUID()
  const { signal } = web.req.raw
  const leave = () => web.executionCtx.waitUntil(session.runs.leave(authority, client))
  signal.addEventListener('abort', leave)
  if (signal.aborted) leave()
  return client
}
