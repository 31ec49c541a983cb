/**
 * `Idempotency-Key`: the key and the body decide the ids that the work will have, and the tenant's
 * object remembers the pair. A repeat finds the same session and the same run and gets their answer;
 * nothing has to be stored twice, and a crash in between changes nothing.
 */

import { newRunId, newSessionId } from '../durable/platform/ids.ts'
import { tenantStub } from '../durable/tenant/tenant-stub.ts'
import { AppError, invalid } from './errors.ts'
import type { Call } from './route.ts'

export type Ids = {
  readonly sessionId: string
  readonly runId: string
  /** An earlier request may have begun the work. */
  readonly repeatable: boolean
  readonly replayed: boolean
  /** The work was refused: the key may be used for something else. */
  readonly release: () => Promise<void>
}

/** `sessionId`: where the work happens, when that is known; else a new one. */
export async function idsFor(call: Call<unknown, unknown>, sessionId?: string): Promise<Ids> {
  const fresh = { sessionId: sessionId ?? newSessionId(), runId: newRunId() }
  const key = call.web.req.header('idempotency-key')
  if (key === undefined) return { ...fresh, repeatable: false, replayed: false, release: async () => {} }
  if (!key.trim() || key.length > 255)
    throw invalid('Idempotency-Key must have 1 to 255 characters.', 'Idempotency-Key')
  const tenant = tenantStub(call.env, call.tenant.id)
  const name = `${call.web.req.method} ${call.web.req.path} ${key}`
  const claim = await tenant.claims.claim(name, await hashOf(call.bodyText), fresh)
  if (claim.is === 'conflict')
    throw new AppError(409, 'idempotency_key_conflict', 'This Idempotency-Key was already used with another body.', {
      param: 'Idempotency-Key',
    })
  const { sessionId: boundSession, runId } = claim
  return {
    sessionId: boundSession,
    runId,
    repeatable: true,
    replayed: claim.is === 'same',
    release: async () => void (await tenant.claims.release(name)),
  }
}

/** What is refused before anything of it is there gives its key back. */
export async function releasing<T>({ release }: Ids, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof AppError) await release()
    throw error
  }
}

export const replayHeader = ({ replayed }: Ids): Record<string, string> =>
  replayed ? { 'Idempotency-Replayed': 'true' } : {}

async function hashOf(text: string): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text))
  return btoa(String.fromCharCode(...new Uint8Array(digest)))
}
