/** Addresses session objects by the tenant of the key and the session id, and asks several of them for their status. */

import { log } from '#agent/core/log.ts'
import type { Authority } from '#agent/core/permission/authority.ts'
import { isRunOf, sessionNamePattern, splitAtDot } from '#agent/core/session-name.ts'
import type { SessionStatus } from '#durable/turn/pending-requests.ts'
import { notFound } from './errors.ts'
import { sessionStub, type SessionStub } from '#durable/platform/addresses.ts'
import { withTimeout } from '#durable/platform/timeout.ts'

/** Returns the stub of a session. Throws 404 for a malformed id, as for an unknown one. */
export function addressSession(env: Env, tenantId: string, sessionId: string): SessionStub {
  if (!sessionNamePattern.test(sessionId)) throw notFound()
  return sessionStub(env, tenantId, sessionId)
}

/** Throws 404 for undefined, which objects return for a session that does not exist. */
export function requireFound<T>(value: T | undefined): T {
  if (value === undefined) throw notFound()
  return value
}

const maxRequestIdChars = 1_000

/** Splits the id of a pending request, which starts with its session's id. */
export function splitRequestId(id: string): readonly [sessionId: string, request: string] {
  // The run's id, which follows, names the session again: a session's name may contain dots.
  const isSession = (session: string, request: string) =>
    splitAtDot(request, (run) => isRunOf(run, session)) !== undefined
  if (id.length > maxRequestIdChars) throw notFound()
  const pair = splitAtDot(id, isSession) ?? splitAtDot(id, (session) => session.length > 0)
  if (!pair) throw notFound()
  return pair
}

const maxConcurrent = 10
const statusTimeoutMs = 2_000

/** Asks the objects of a list for their status. Objects that fail or exceed the timeout are missing in the result. */
export async function getStatuses(
  { env, authority }: { readonly env: Env; readonly authority: Authority },
  sessions: readonly { readonly id: string }[],
): Promise<ReadonlyMap<string, SessionStatus>> {
  const statuses = new Map<string, SessionStatus>()
  const open = [...sessions]
  const askNext = async () => {
    for (let session = open.shift(); session; session = open.shift())
      try {
        statuses.set(session.id, await addressSession(env, authority.tenantId, session.id).info.status(authority))
      } catch (error) {
        log.warn('session.status_unreadable', 'The status of a session cannot be read.', {
          error,
          session_id: session.id,
        })
      }
  }
  const requests = Promise.all(Array.from({ length: maxConcurrent }, askNext))
  await withTimeout(requests, statusTimeoutMs, () => void open.splice(0))
  return statuses
}
