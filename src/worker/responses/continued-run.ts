/** Finds the run that a request continues: by `previous_response_id`, by `conversation`, or by the ids in its input. */

import type { Authority } from '#agent/core/permission/authority.ts'
import { parseItemId } from '#agent/public-api/responses/item-ids.ts'
import { parseResponseId } from '#agent/public-api/responses/response-ids.ts'
import type { Location } from '#durable/session/views/locate-response.ts'
import type { SessionDO } from '#durable/session/session-object.ts'
import type { ConversationHashes } from '../chat/conversation-hash.ts'
import { findConversation, type FoundConversation } from '../chat/find-conversation.ts'
import { AppError, notFound } from '../errors.ts'
import { addressSession } from '../sessions.ts'
import { type CreateCall, getConversationName } from './response-body.ts'
import type { ParsedInput } from './response-input.ts'

/** A part of a run, for the authority that asks. */
export type ResponseLocation = {
  readonly session: DurableObjectStub<SessionDO>
  readonly authority: Authority
  readonly sessionId: string
  readonly runId: string
  readonly segment: number
}

export const unknownResponse = (id: string, status = 404): AppError =>
  new AppError(status, 'previous_response_not_found', `Previous response with id ${JSON.stringify(id)} not found.`, {
    param: 'previous_response_id',
  })

type LocatingCall = Pick<CreateCall, 'env' | 'authority' | 'unstored'>

/** Throws 404 for a malformed id, as for an unknown one. */
export function locateResponse(call: LocatingCall, id: string): ResponseLocation {
  const found = findLocation(call, id)
  if (!found) throw notFound()
  return found
}

/** The response that a request continues. Its id is part of the body, so the error has a code of its own. */
function locatePrevious(call: LocatingCall, id: string): ResponseLocation {
  const found = findLocation(call, id)
  if (!found) throw unknownResponse(id)
  return found
}

function findLocation({ env, authority, unstored }: LocatingCall, id: string): ResponseLocation | undefined {
  const sessionOfUnstored = unstored?.get(id)
  const parsed = parseResponseId(sessionOfUnstored === undefined ? id : `${id}.${sessionOfUnstored}`)
  return parsed && { session: addressSession(env, authority.tenantId, parsed.sessionId), authority, ...parsed }
}

/** `at`: absent when the session has no run yet. */
export type ContinuedRun = {
  readonly session: DurableObjectStub<SessionDO>
  readonly sessionId: string
  readonly at?: Location
  /** Its responses are not stored. */
  readonly isUnstored?: boolean
  /** Found by what the input repeats, not by an id. */
  readonly byHistory?: FoundConversation['kind']
  /** The part of the run that the request names. Absent: its end. */
  readonly segment?: number
}

/** The session that the request names, which may not exist. */
export function findSession(call: CreateCall): DurableObjectStub<SessionDO> | undefined {
  const { previous_response_id: previous, conversation } = call.body
  if (previous) return locatePrevious(call, previous).session
  return conversation ? addressSession(call.env, call.tenant.id, getConversationName(conversation)) : undefined
}

export async function findContinuedRun(call: CreateCall, parsed: ParsedInput): Promise<ContinuedRun | undefined> {
  const { previous_response_id: previous, conversation } = call.body
  const ids = listIds(parsed)
  if (previous) {
    const { session, authority, sessionId, runId, segment } = locatePrevious(call, previous)
    const at = await session.responses.locate(authority, { runId, ...ids })
    if (!at || segment > at.segments) throw unknownResponse(previous)
    return { session, sessionId, at, segment, isUnstored: call.unstored?.has(previous) === true }
  }
  if (!conversation) return findWaitingRun(call, parsed, ids)
  const sessionId = getConversationName(conversation)
  const session = addressSession(call.env, call.tenant.id, sessionId)
  const at = (await session.responses.locate(call.authority, ids)) ?? undefined
  return { session, sessionId, ...(at && { at }) }
}

/** Finds the run that said what the input repeats. Results and decisions are known by their ids instead. */
export async function findByHistory(
  call: CreateCall,
  { message, results, approvals }: ParsedInput,
  hashes: ConversationHashes | undefined,
): Promise<ContinuedRun | undefined> {
  if (!hashes || !message || results.length || approvals.length) return undefined
  const found = await findConversation(call, hashes)
  if (!found) return undefined
  const { sessionId, runId, kind } = found
  const session = addressSession(call.env, call.tenant.id, sessionId)
  const at = await session.responses.locate(call.authority, { runId, callIds: [], approvalIds: [] })
  return at ? { session, sessionId, at, byHistory: kind } : undefined
}

/**
 * Finds the run that waits for these results or decisions by their ids, which name its session. The history that the
 * client sends with them is that of the run.
 */
async function findWaitingRun(
  { env, authority }: CreateCall,
  { history }: ParsedInput,
  ids: ReturnType<typeof listIds>,
): Promise<ContinuedRun | undefined> {
  const answered = [...ids.callIds, ...ids.approvalIds].map(parseItemId)
  const [first] = answered
  if (!first || !history.length || answered.some((one) => one?.sessionId !== first.sessionId)) return undefined
  const { sessionId, seq } = first
  const session = addressSession(env, authority.tenantId, sessionId)
  const at = await session.responses.locate(authority, ids)
  return at?.state === 'waiting' && at.waitsAt === seq ? { session, sessionId, at } : undefined
}

const listIds = ({ results, approvals }: ParsedInput) => ({
  callIds: results.map(({ callId }) => callId),
  approvalIds: approvals.map(({ approval_request_id: id }) => id),
})

/** The ids of the model for what the request answers. Throws for an id that the run does not have. */
export function listAnswers(parsed: ParsedInput, at: Location) {
  return {
    results: parsed.results.map((result) => ({ ...result, callId: at.calls[result.callId] ?? result.callId })),
    approvals: parsed.approvals.map(({ approval_request_id: id, approve, reason }) => {
      const request = at.approvals[id]
      if (request === undefined)
        throw new AppError(400, 'invalid_request', `No approval has the id ${JSON.stringify(id)}.`, { param: 'input' })
      return { id: request, decision: approve ? ('once' as const) : ('deny' as const), ...(reason && { reason }) }
    }),
  }
}
