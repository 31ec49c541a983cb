/** The way to a session object: by the tenant of the key and an id that could be one. */

import type { SessionDO } from '../durable/session/session-object.ts'
import type { SessionStatus } from '../durable/session/api-views.ts'
import { notFound } from './errors.ts'

const shape = /^[A-Za-z0-9_-]{1,128}$/

/** A malformed id is answered like an unknown one. */
export function sessionStub(env: Env, tenantId: string, sessionId: string): DurableObjectStub<SessionDO> {
  if (!shape.test(sessionId)) throw notFound()
  return env.SESSION.getByName(`t/${tenantId}/s/${sessionId}`)
}

/** An object answers undefined for a session that does not exist: to the client that is a 404. */
export function found<T>(value: T | undefined): T {
  if (value === undefined) throw notFound()
  return value
}

/** Ids of questions begin with the session's, so that one request finds both. */
export function splitId(id: string): readonly [sessionId: string, request: string] {
  const dot = id.indexOf('.')
  if (dot < 1) throw notFound()
  return [id.slice(0, dot), id.slice(dot + 1)]
}

/** Objects asked at the same time, and how long one list waits for all of them. */
const atATime = 10
const patienceMs = 2_000

/** What the sessions of a list do now, as their objects say. One that does not answer, or not in time, has no status. */
export async function statusesOf(
  env: Env,
  tenantId: string,
  sessions: readonly { readonly id: string }[],
): Promise<ReadonlyMap<string, SessionStatus>> {
  const statuses = new Map<string, SessionStatus>()
  const open = [...sessions]
  const ask = async () => {
    for (let session = open.shift(); session; session = open.shift())
      try {
        statuses.set(session.id, await sessionStub(env, tenantId, session.id).info.status())
      } catch (error) {
        console.warn('A session does not say how it is.', error)
      }
  }
  const asked = Promise.all(Array.from({ length: atATime }, ask))
  const late = scheduler.wait(patienceMs).then(() => void open.splice(0))
  await Promise.race([asked, late])
  return statuses
}
