/** The way to a session object: by the tenant of the key and an id that could be one. */

import { type SessionDO, statusHeader } from '../durable/session/session-object.ts'
import type { FollowRequest, StreamRequest } from '../durable/session/submit.ts'
import type { Accepted } from '../durable/session/read-session.ts'
import type { SessionStatus } from '../durable/session/api-views.ts'
import { AppError, notFound } from './errors.ts'

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

/** Refuses what the session cannot keep, or what came too late to go on from where it was to; `param` is the field in which it came. */
export function refuseNotTaken(status: Accepted['status'], param: string): void {
  if (status === 'too-large') throw tooLarge(param)
  if (status === 'passed') throw passed()
}

const passed = () =>
  new AppError(
    409,
    'conflict',
    'Another request continued from that response first. Send this one again to branch off.',
  )

export const tooLarge = (param: string) =>
  new AppError(
    413,
    'body_too_large',
    'A message and all that still wait before it may have 1.8 MB together, and an image 1 MB where there is no R2; ' +
      'at most 200 messages of 8 MB in all wait in a session. Put more into files of the session.',
    { param },
  )

/** Ids of questions begin with the session's, so that one request finds both. */
export function splitId(id: string): readonly [sessionId: string, request: string] {
  const dot = id.indexOf('.')
  if (dot < 1) throw notFound()
  return [id.slice(0, dot), id.slice(dot + 1)]
}

/** Says something, which came in the field `param`, to a session and follows the run. */
export async function sayAndStream(
  session: DurableObjectStub<SessionDO>,
  request: StreamRequest,
  param = 'input',
): Promise<Response> {
  const answer = await session.fetch('https://session/', { method: 'POST', body: JSON.stringify(request) })
  if (answer.status === 404) throw notFound()
  if (answer.status === 413) throw tooLarge(param)
  if (answer.status === 409) throw passed()
  return answer
}

/** Follows a run that is there. */
export async function follow(session: DurableObjectStub<SessionDO>, request: FollowRequest): Promise<Response> {
  const answer = await session.fetch('https://session/', { method: 'POST', body: JSON.stringify(request) })
  if (answer.status === 404) throw notFound()
  return answer
}

/** The run is a new one of this request's own, and not one that was joined or is told again. */
export const hasBegun = (answer: Response): boolean =>
  ['running', 'queued'].includes(answer.headers.get(statusHeader) ?? '')

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
        statuses.set(session.id, await sessionStub(env, tenantId, session.id).status())
      } catch (error) {
        console.warn('A session does not say how it is.', error)
      }
  }
  const asked = Promise.all(Array.from({ length: atATime }, ask))
  const late = scheduler.wait(patienceMs).then(() => void open.splice(0))
  await Promise.race([asked, late])
  return statuses
}
