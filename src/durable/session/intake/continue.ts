/**
 * Submits what the caller of a waiting run brings: results of its tools, decisions about approvals, and a message. Its
 * answer is the next part of the run. Calls of the client without a result get an error result.
 */

import { combineAuthorities } from '#agent/core/permission/contribution.ts'
import type { ApprovalAnswer } from '#agent/core/permission/approval.ts'
import type { ImagePart, TextPart, ToolMessage, UserMessage } from '#agent/core/message.ts'
import { callerCalls, isOver, type Turn } from '#agent/core/turn.ts'
import { getResultLimits } from '#tools/limit-result.ts'
import { turnScope } from '#durable/turn/tools/turn-scope.ts'
import { prepareDecision, type PreparedDecision } from '../core/approvals.ts'
import { findJoinedRun } from '../views/read-session.ts'
import { turnOf } from '../views/segments.ts'
import type { Session } from '../session.ts'
import type { Intake, Submitted } from './intake.ts'
import { readFiles, withFileReader } from './incoming-files.ts'
import { joinOpenTurn } from './join-turn.ts'
import type { RequestSubmission } from './request.ts'
import { prepareSlashDecisions, type SlashDecisions } from './slash-decision.ts'

/** `failed`: the client reports an error. */
export type ClientResult = {
  readonly callId: string
  readonly content: readonly (TextPart | ImagePart)[]
  readonly failed: boolean
}

/** `id`: that of the approval without the session's prefix. */
export type GivenDecision = { readonly id: string } & ApprovalAnswer

export type ContinueSubmission = Pick<
  RequestSubmission,
  'authority' | 'tenant' | 'runId' | 'options' | 'busyMode' | 'idempotency' | 'client'
> & {
  readonly kind: 'continue'
  /** The run that waits. Absent: the last one of the session. */
  readonly continues?: string | undefined
  readonly results: readonly ClientResult[]
  readonly approvals: readonly GivenDecision[]
  readonly message?: UserMessage | undefined
}

export function continueIntake(session: Session, submission: ContinueSubmission, blobs: R2Bucket | undefined): Intake {
  const { runId, results, idempotency } = submission
  let { message } = submission
  let received: readonly ToolMessage[] = []
  let decisions: readonly PreparedDecision[] = []
  let typed: SlashDecisions | undefined
  const waiting = () => continuedTurn(session, submission)
  return {
    runId,
    open: async () => {
      await session.tenant.update(submission.tenant)
      return (session.exists || (await session.load())) && 'exists'
    },
    findOutcome: () => {
      const turn = waiting()
      const repeated = turn && findAnswered(turn, submission)
      if (repeated) return repeated
      return idempotency !== 'none' && message ? findJoinedRun(session, runId, 0) : undefined
    },
    prepare: async () => {
      const turn = waiting()
      if (turn) received = await receiveResults(session, turn, { runId, results, blobs })
      if (message) [message] = await readFiles(session, runId, [message], blobs)
      decisions = await prepareDecisions(session, submission)
      typed = message && (await prepareSlashDecisions(session, submission.authority, message))
    },
    compose: () => message && { message, options: ownedOptions(submission) },
    join: () => {
      const turn = waiting()
      const isWaiting = turn?.id === session.store.current()?.id && turn && callerCalls(turn.stage).length > 0
      if (!isWaiting && !message) return { runId, status: 'nothing' }
      const answers = { results: received, decisions: [...decisions, ...(typed?.decisions ?? [])], isCaller: true }
      return joinOpenTurn(session, { ...getJoining(submission), answers }, typed ? undefined : message)
    },
  }
}

function continuedTurn(session: Session, { continues }: ContinueSubmission): Turn | undefined {
  return continues === undefined ? session.store.current() : turnOf(session, continues)
}

const getJoining = (submission: ContinueSubmission) => ({
  runId: submission.runId,
  mode: submission.busyMode,
  options: ownedOptions(submission),
})

const ownedOptions = ({ options, message, authority }: ContinueSubmission) => ({
  ...withFileReader(options, message ? [message] : []),
  authority: combineAuthorities([authority]),
})

/** The part of the run that follows the named calls, when they were answered before. An id that no part has is refused. */
function findAnswered(turn: Turn, { runId, results }: ContinueSubmission): Submitted | undefined {
  const { segments = [] } = turn
  const open = new Set(callerCalls(turn.stage).map(({ id }) => id))
  let answered = -1
  for (const { callId } of results) {
    const at = segments.findLastIndex(({ callIds }) => callIds.includes(callId))
    if (at < 0) return { runId, status: 'unknown-call', callId }
    if (!open.has(callId)) answered = Math.max(answered, at)
  }
  if (answered < 0) return undefined
  return { runId: turn.id, status: isOver(turn) ? 'ended' : 'joined', segment: answered + 1 }
}

type GivenResults = Pick<ContinueSubmission, 'runId' | 'results'> & { readonly blobs: R2Bucket | undefined }

/** Bounds, redacts and stores the results of the calls that wait. */
async function receiveResults(session: Session, turn: Turn, { runId, results, blobs }: GivenResults) {
  const names = new Map(callerCalls(turn.stage).map(({ id, name }) => [id, name]))
  const messages = results.flatMap(({ callId, content, failed }): ToolMessage[] => {
    const name = names.get(callId)
    return name === undefined ? [] : [{ role: 'tool', callId, name, content, failed }]
  })
  const window = session.routesOf(turn)[turn.route.model]?.contextWindow
  const read = await readFiles(session, runId, messages, blobs)
  return session.toolRuntime.receiveResults(read, turnScope(session), getResultLimits(window))
}

async function prepareDecisions(session: Session, { approvals, authority }: ContinueSubmission) {
  const decider = { authority, tenant: session.tenantObject() }
  const prepared = await Promise.all(
    approvals.map(({ id, ...answer }) => prepareDecision(session, decider, id, answer)),
  )
  return prepared.filter((one) => typeof one !== 'string')
}
