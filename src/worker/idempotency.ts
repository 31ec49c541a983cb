/**
 * Implements `Idempotency-Key`. The tenant's object stores which session and run ids a key and a body belong to, before
 * the work begins. A repeated request gets the same ids and therefore the same answer, also after a crash.
 */

import { newRunId, newSessionId } from '#durable/platform/ids.ts'
import { noteLogIds } from '#durable/platform/log-context.ts'
import { tenantStub } from '#durable/platform/addresses.ts'
import { AppError, invalid } from './errors.ts'
import { identityOf, type Principal } from '#agent/core/permission/authority.ts'
import type { RouteCall } from './route.ts'
import { sha256Base64 } from '#durable/platform/hash.ts'

export type RequestIds = {
  readonly sessionId: string
  readonly runId: string
  /** The request has a key and may be sent again. */
  readonly repeatable: boolean
  readonly replayed: boolean
  /** Frees the key for another body, after the request was refused. */
  readonly release: () => Promise<void>
}

export type KeyedCall = Pick<RouteCall<unknown, unknown>, 'web' | 'env' | 'authority' | 'tenant' | 'bodyText'>

/** Another principal neither gets the stored answer nor blocks the key. */
export const claimName = (
  principal: Principal,
  { method, path, key }: { readonly method: string; readonly path: string; readonly key: string },
): string => `${JSON.stringify(identityOf(principal))} ${method} ${path} ${key}`

/** Returns the ids for a request. Without `sessionId` the session is a new one. */
export async function claimIds(call: KeyedCall, sessionId?: string): Promise<RequestIds> {
  const session = sessionId ?? newSessionId()
  const newIds = { sessionId: session, runId: newRunId(session) }
  const key = call.web.req.header('idempotency-key')
  if (key === undefined) return { ...newIds, repeatable: false, replayed: false, release: async () => {} }
  if (!key.trim() || key.length > 255)
    throw invalid('Idempotency-Key must have 1 to 255 characters.', 'Idempotency-Key')
  const tenant = tenantStub(call.env, call.tenant.id)
  const { method, path } = call.web.req
  const name = claimName(call.authority.principal, { method, path, key })
  const claim = await tenant.claims.claim(call.authority, name, await sha256Base64(call.bodyText), newIds)
  if (claim.kind === 'conflict')
    throw new AppError(409, 'idempotency_key_conflict', 'This Idempotency-Key was already used with another body.', {
      param: 'Idempotency-Key',
    })
  const { sessionId: boundSession, runId } = claim
  return {
    sessionId: boundSession,
    runId,
    repeatable: true,
    replayed: claim.kind === 'same',
    release: async () => void (await tenant.claims.release(call.authority, name)),
  }
}

/** The ids of a run that answers already. The request is a repeat of the one that has begun it. */
export const joinedIds = ({ sessionId, runId }: Pick<RequestIds, 'sessionId' | 'runId'>): RequestIds => ({
  sessionId,
  runId,
  repeatable: false,
  replayed: false,
  release: async () => {},
})

/** Releases the key when the request is refused. Other errors keep it, because the work may have begun. */
export async function releaseOnError<T>({ sessionId, runId, release }: RequestIds, work: () => Promise<T>): Promise<T> {
  noteLogIds({ session_id: sessionId, run_id: runId })
  try {
    return await work()
  } catch (error) {
    if (error instanceof AppError) await release()
    throw error
  }
}

export const replayHeaders = ({ replayed }: RequestIds): Record<string, string> =>
  replayed ? { 'Idempotency-Replayed': 'true' } : {}
