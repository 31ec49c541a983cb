/** Submits messages to a session, and turns what it did not accept into errors of the API. */

import type { SessionDO } from '#durable/session/session-object.ts'
import type { ContinueSubmission } from '#durable/session/intake/continue.ts'
import type { RequestSubmission } from '#durable/session/intake/request.ts'
import {
  failedRunStatus,
  type FollowRequest,
  notAcceptedStatus,
  type StreamRequest,
} from '#durable/session/serve-stream.ts'
import { isNotAccepted, type Submitted } from '#durable/session/intake/intake.ts'
import { AppError, invalid, notFound, runFailed } from './errors.ts'
import { type RequestIds, releaseOnError } from './idempotency.ts'
import { requireAdmission } from './limits.ts'
import { requireFound } from './sessions.ts'

/** The fields of a command that follow from the ids of a request. */
export const idempotencyOf = ({ repeatable, replayed }: RequestIds): RequestSubmission['idempotency'] =>
  replayed ? 'repeat' : repeatable ? 'first' : 'none'

/** Submits and returns at once. A refused request gives its idempotency key back. `param` is the field of the message. */
export const submitNow = (
  session: DurableObjectStub<SessionDO>,
  command: RequestSubmission | ContinueSubmission,
  ids: RequestIds,
  param = 'input',
) => releaseOnError(ids, async () => accepted(requireFound(await session.runs.submit(command)), param))

/** Submits and waits for the end of the run. */
export const submitAndWait = (
  session: DurableObjectStub<SessionDO>,
  command: RequestSubmission,
  ids: RequestIds,
  param = 'input',
) =>
  releaseOnError(ids, async () => {
    const { submitted, run, end } = requireFound(await session.runs.submitAndWait(command))
    accepted(submitted, param)
    return { run: requireFound(run), end: requireFound(end) }
  })

/** Submits a message or answers of the caller, and waits until the run ends or waits for its caller. */
export const submitUntilSegment = (
  session: DurableObjectStub<SessionDO>,
  command: RequestSubmission | ContinueSubmission,
  ids: RequestIds,
  param = 'input',
) =>
  releaseOnError(ids, async () => {
    const { submitted, run, segment } = requireFound(await session.runs.submitUntilSegment(command))
    accepted(submitted, param)
    return { run: requireFound(run), segment: requireFound(segment) }
  })

/**
 * Submits and streams the run. A run that fails before its first byte is an error with these headers. It keeps its
 * idempotency key, because a repeat gets the same error.
 */
export async function submitAndStream(
  session: DurableObjectStub<SessionDO>,
  request: StreamRequest,
  ids: RequestIds,
  { param = 'input', headers = {} }: { readonly param?: string; readonly headers?: Record<string, string> } = {},
): Promise<Response> {
  const answer = await releaseOnError(ids, async () => {
    const streamed = await fetchStream(session, request)
    if (streamed.status === notAcceptedStatus) accepted((await streamed.json()) as Submitted, param)
    return streamed
  })
  if (answer.status === failedRunStatus) throw runFailed(await answer.json(), headers)
  return answer
}

/** Streams a run that exists. */
export const follow = (session: DurableObjectStub<SessionDO>, request: FollowRequest): Promise<Response> =>
  fetchStream(session, request)

async function fetchStream(
  session: DurableObjectStub<SessionDO>,
  request: StreamRequest | FollowRequest,
): Promise<Response> {
  const answer = await session.fetch('https://session/', { method: 'POST', body: JSON.stringify(request) })
  if (answer.status === 404) throw notFound()
  return answer
}

/** The submitted message, or the error that says why it was not accepted. */
export function accepted(submitted: Submitted, param: string): Submitted {
  if (!isNotAccepted(submitted)) return submitted
  switch (submitted.status) {
    case 'too-large':
      throw tooLarge(param)
    case 'superseded':
      throw new Superseded()
    case 'busy':
    case 'nothing':
      throw new AppError(409, 'conflict', 'There is no turn to repeat, or one is running.')
    case 'unknown-call':
      throw unknownCall(submitted.callId, param)
    case 'over-limit':
      requireAdmission({ ok: false, limit: submitted.limit, retryAfter: submitted.retryAfter })
      return submitted
  }
}

/** Another request continued from the same run first. */
export class Superseded extends AppError {
  constructor() {
    super(409, 'conflict', 'Another request continued from that response first. Send this one again to branch off.')
  }
}

const unknownCall = (callId: string, param: string) =>
  invalid(`No call of the conversation that waits has the id ${JSON.stringify(callId)}.`, param)

export const tooLarge = (param: string) =>
  new AppError(
    413,
    'body_too_large',
    'A message and all that still wait before it may have 1.8 MB together, and an image 1 MB where there is no R2; ' +
      'at most 200 messages of 8 MB in all wait in a session. Put more into files of the session.',
    { param },
  )
