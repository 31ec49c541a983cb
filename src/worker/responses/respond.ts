/** Answers a request of the Responses API: with events, at once, or when its run has ended or waits for the client. */

import { toRunFailure } from '#agent/public-api/run-failure.ts'
import type { SessionDO } from '#durable/session/session-object.ts'
import { runHeader } from '#durable/session/serve-stream.ts'
import { runFailed } from '../errors.ts'
import { nameClient } from '../client-disconnect.ts'
import { type RequestIds, replayHeaders } from '../idempotency.ts'
import { maxPauseMs } from '../input/turn-options.ts'
import { requireFound, addressSession } from '../sessions.ts'
import { submitAndStream, submitNow, submitUntilSegment } from '../submit.ts'
import { eventStreamHeaders } from '../headers.ts'
import type { CreateCall } from './response-body.ts'
import { type ResponseCommand, type SubmittedResponse, submitResponse } from './submit-response.ts'

export const createResponse = (call: CreateCall): Promise<Response> =>
  submitResponse(call, (submitted) => respond(call, submitted))

async function respond(call: CreateCall, { ids, command, isEphemeral }: SubmittedResponse): Promise<Response> {
  const session = addressSession(call.env, call.tenant.id, ids.sessionId)
  const answer = await submitAndRender(call, { session, ids, command })
  // A connection keeps what it can continue.
  return isEphemeral && !call.unstored ? deleteAfterResponse(call, session, answer) : answer
}

type ResponseSubmission = {
  readonly session: DurableObjectStub<SessionDO>
  readonly ids: RequestIds
  readonly command: ResponseCommand
}

/** The client waits for the answer: its run stops when it goes away, and does not pause for long. */
function createWaitingCommand(call: CreateCall, { session, ids, command }: ResponseSubmission): ResponseCommand {
  const client = nameClient(call, session, ids)
  return { ...command, options: { ...command.options, maxPauseMs }, ...(client && { client }) }
}

async function submitAndRender(
  call: CreateCall,
  { session, ids, command: given }: ResponseSubmission,
): Promise<Response> {
  const { authority, body } = call
  const command = body.background ? given : createWaitingCommand(call, { session, ids, command: given })
  const headers = { 'x-talaria-session-id': ids.sessionId, ...replayHeaders(ids) }
  if (body.background && !body.stream) {
    const { runId, ...submitted } = await submitNow(session, command, ids)
    const segment = 'segment' in submitted ? (submitted.segment ?? 0) : 0
    const { json } = requireFound(await session.responses.get(authority, { runId, segment }))
    return jsonResponse(json, { ...headers, 'x-talaria-run-id': runId })
  }
  if (body.stream) {
    const answer = await submitAndStream(session, { command, format: { as: 'response' } }, ids)
    const run = { 'x-talaria-run-id': answer.headers.get(runHeader) ?? ids.runId }
    return new Response(answer.body, { headers: { ...headers, ...run, ...eventStreamHeaders } })
  }
  const { segment } = await submitUntilSegment(session, command, ids)
  const { runId, index, end } = segment
  const whole = requireFound(await session.responses.get(authority, { runId, segment: index }))
  const failure = end && toRunFailure(end)
  const withRun = { ...headers, 'x-talaria-run-id': runId }
  if (failure && !whole.hasMessage) throw runFailed(failure, withRun)
  return jsonResponse(whole.json, withRun)
}

export const jsonResponse = (json: string, headers: Record<string, string> = {}): Response =>
  new Response(json, { headers: { 'content-type': 'application/json', ...headers } })

/**
 * Deletes the session after the response was sent or the reader disconnected, unless its run waits for the client. When
 * the isolate stops before that, the ephemeral session expires at its time.
 */
function deleteAfterResponse(
  { web, authority }: CreateCall,
  session: DurableObjectStub<SessionDO>,
  answer: Response,
): Response {
  const deleteSession = () => session.info.deleteUnstored(authority)
  if (!answer.headers.get('content-type')?.startsWith('text/event-stream') || !answer.body) {
    web.executionCtx.waitUntil(deleteSession())
    return answer
  }
  const { readable, writable } = new TransformStream()
  // The pipe also ends when the reader disconnects.
  web.executionCtx.waitUntil(answer.body.pipeTo(writable).then(deleteSession, deleteSession))
  return new Response(readable, answer)
}
