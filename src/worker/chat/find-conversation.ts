/**
 * Finds the session whose conversation the messages of a request repeat. The tenant's object knows candidates by a hash,
 * and each candidate says whether it said what the client repeats (docs/design/continuity.md).
 */

import { log } from '#agent/core/log.ts'
import type { ClaimedAnswer, ConversationMatch } from '#durable/session/views/match-conversation.ts'
import type { Continuation, RecordedContinuation } from '#durable/tenant/conversations.ts'
import { tenantStub } from '#durable/platform/addresses.ts'
import type { RouteCall } from '../route.ts'
import { addressSession } from '../sessions.ts'
import type { ConversationHashes } from './conversation-hash.ts'
import { sha256Base64 } from '#durable/platform/hash.ts'

/**
 * `continue`: in this session; `segment` is the next part of a run that waits for its caller. `branch`: in a copy of it up
 * to this run. `join`: the run answers the request already.
 */
export type FoundConversation =
  | { readonly kind: 'continue'; readonly sessionId: string; readonly runId: string; readonly segment?: number }
  | { readonly kind: 'branch' | 'join'; readonly sessionId: string; readonly runId: string }

type Asking = Pick<RouteCall<unknown, unknown>, 'env' | 'authority' | 'web'>

/** Undefined: a new session, with the messages as its history. */
export async function findConversation(
  call: Asking,
  hashes: ConversationHashes,
): Promise<FoundConversation | undefined> {
  const isRetry =
    Number(call.web.req.header('x-stainless-retry-count') ?? 0) > 0 && !call.web.req.header('idempotency-key')
  const joined = isRetry ? await findOpenRun(call, await hashes.own()) : undefined
  if (joined || !hashes.answered) return joined
  const { hash, sessionId, ...claimed } = hashes.answered
  const continuations = await find(call, await hash())
  return continuations.length ? choose(call, continuations, { ...claimed, sessionId }) : undefined
}

const find = ({ env, authority }: Asking, hash: string) =>
  tenantStub(env, authority.tenantId).conversations.find(authority, hash) as Promise<readonly RecordedContinuation[]>

/** A repeated request joins the run of an earlier try while that is open. Of several, none can be told to be its own. */
async function findOpenRun(call: Asking, hash: string): Promise<FoundConversation | undefined> {
  const continuations = (await find(call, hash)).filter(({ segment, retired }) => segment === 0 && !retired)
  const runs = await Promise.all(
    continuations.map(async ({ sessionId, runId }) => {
      const run = await stubOf(call, sessionId).runs.get(call.authority, runId)
      return run && ['queued', 'running', 'waiting'].includes(run.status) ? { sessionId, runId } : undefined
    }),
  )
  const [open, another] = runs.filter((run) => run !== undefined)
  return open && !another ? { kind: 'join', ...open } : undefined
}

type MatchedContinuation = Continuation & { readonly match: ConversationMatch }

async function choose(
  call: Asking,
  continuations: readonly RecordedContinuation[],
  { sessionId: named, ...claimed }: ClaimedAnswer & { readonly sessionId: string | undefined },
): Promise<FoundConversation | undefined> {
  const live = continuations.filter(({ retired }) => !retired)
  const asked = await Promise.all(
    live.map(async (continuation): Promise<MatchedContinuation | undefined> => {
      const { sessionId, runId, segment } = continuation
      const match = await stubOf(call, sessionId).history.match(call.authority, runId, segment, claimed)
      return match && { ...continuation, match }
    }),
  )
  const matches = asked.filter((match) => match !== undefined)
  const own = matches.find(({ sessionId }) => sessionId === named)
  if (own) return toFound(own)
  const [first] = matches
  const saidHash = await sha256Base64(claimed.text)
  const expired = continuations.filter(({ retired }) => retired?.said.includes(saidHash))
  if (!first) return undefined
  if (new Set([...matches, ...expired].map(({ sessionId }) => sessionId)).size === 1) return toFound(first)
  // The same words and the same answer in several sessions: nothing says whose they are. A copy is safe where all are
  // the same, since it has nothing that one of them has alone.
  const states = await Promise.all([
    ...matches.map((match) => getState(call, match)),
    ...expired.map(({ retired }) => retired?.state),
  ])
  const isSame = states[0] && states.every((state) => state === states[0])
  return isSame ? { kind: 'branch', sessionId: first.sessionId, runId: first.runId } : undefined
}

function toFound({ sessionId, runId, match }: MatchedContinuation): FoundConversation {
  if (match.kind === 'earlier') return { kind: 'branch', sessionId, runId }
  return { kind: 'continue', sessionId, runId, ...(match.kind === 'waiting' && { segment: match.segment }) }
}

/** Undefined for a run that waits: a copy could not go on with it. */
async function getState(call: Asking, { sessionId, runId, match }: MatchedContinuation): Promise<string | undefined> {
  if (match.kind === 'waiting') return undefined
  return (await stubOf(call, sessionId).history.stateAfter(call.authority, runId)) ?? undefined
}

const stubOf = ({ env, authority }: Asking, sessionId: string) => addressSession(env, authority.tenantId, sessionId)

/** Remembers which run answers the conversation. A failure is logged: the next request then gets a new session. */
export async function recordContinuation(
  { env, authority }: Asking,
  hashes: ConversationHashes,
  continuation: Continuation,
): Promise<void> {
  try {
    await tenantStub(env, authority.tenantId).conversations.record(authority, await hashes.own(), continuation)
  } catch (error) {
    log.warn('conversation.unrecorded', 'A conversation cannot be recorded, so that it will not be continued.', {
      error,
    })
  }
}
