/**
 * Answers what a suspended turn waits for: results of tools of the client, decisions, the answer to a question, or a
 * message that is none of these and takes effect by the busy mode.
 */

import { continueTurn } from '#agent/loop/segment.ts'
import { narrow } from '#agent/core/permission/authority.ts'
import { textIn, type ToolMessage, type UserMessage } from '#agent/core/message.ts'
import type { TurnOptions } from '#agent/core/turn-options.ts'
import { callerCalls, type Turn } from '#agent/core/turn.ts'
import { maxTurns } from '#durable/tenant/tenant-snapshot.ts'
import { createAnswer, isApproval, isQuestion, pendingRequests } from '#durable/turn/pending-requests.ts'
import { isPending, type PreparedDecision, withdrawApproval } from '../core/approvals.ts'
import type { Session } from '../session.ts'
import type { BusyMode, Submitted } from './intake.ts'

export type Answers = {
  readonly results?: readonly ToolMessage[]
  readonly decisions?: readonly PreparedDecision[]
  /** The sender has begun the run and reads its parts: calls of the client that it does not answer are given up. */
  readonly isCaller?: boolean
}

export type Answering = Answers & {
  readonly runId: string
  readonly mode: BusyMode
  readonly options: TurnOptions
  readonly message: UserMessage | undefined
}

/** Nothing is awaited here: the answers, and what follows from them, are one write. Undefined when nothing is answered. */
export function answerWaiting(session: Session, answering: Answering): Submitted | undefined {
  const { store } = session
  const turn = store.turn()
  const answers = collectAnswers(session, answering)
  if (!answers.results.length && !answers.decisions.length && !answers.givesUp) return undefined
  const { rest, ...given } = answers
  const options = answering.isCaller
    ? renewOptions(session, turn, answering.options)
    : narrowOptions(turn, answering.options)
  const limit = maxTurns(session.settings, options.maxTurns, session.meta.source)
  store.save({
    ...continueTurn(turn, { ...given, options, limit }, session.driver.view()),
    requestId: answering.runId,
  })
  const outcome = rest && addMessage(session, answering, rest)
  store.write()
  session.turns.resume()
  return outcome ?? { runId: turn.id, status: 'joined', segment: turn.segments?.length ?? 0 }
}

/** `rest`: the message, when it is no answer. */
function collectAnswers(session: Session, answering: Answering) {
  const { mode, message, isCaller = false } = answering
  const question = message && findQuestion(session, message)
  const rest = question ? undefined : message
  const isInterrupt = rest !== undefined && mode === 'interrupt'
  const made = [
    ...(answering.decisions ?? []).filter((one) => isPending(session, one)),
    ...(isInterrupt ? withdrawAll(session, answering) : []),
  ]
  return {
    results: [
      ...(answering.results ?? []),
      ...made.flatMap(({ denial }) => denial ?? []),
      ...(question ? [createAnswer(question, textIn(message))] : []),
    ],
    allowed: new Map(made.filter(({ denial }) => !denial).map(({ call }) => [call.id, call.awaits.hash])),
    decisions: made.map(({ decision }) => decision),
    givesUp: isCaller || isInterrupt,
    rest,
  }
}

/** A text answers the first question in every mode. */
function findQuestion(session: Session, message: UserMessage) {
  return message.content.every(({ type }) => type === 'text') ? pendingRequests(session).find(isQuestion) : undefined
}

const withdrawAll = (session: Session, { decisions = [], options }: Answering): readonly PreparedDecision[] =>
  pendingRequests(session)
    .filter(isApproval)
    .map(({ id }) => id.slice(session.sessionId.length + 1))
    .filter((request) => !decisions.some((one) => one.request === request))
    .flatMap((request) => withdrawApproval(session, options.authority, request) ?? [])

/** A message beside answers follows them. While other requests stay open, it waits in the way of the busy mode. */
function addMessage({ store }: Session, { runId, mode, options }: Answering, message: UserMessage) {
  const isWaiting = callerCalls(store.turn().stage).length > 0
  if (isWaiting && mode === 'queue') {
    store.addToInbox({ kind: 'queued', runId, message, options })
    return { runId, status: 'queued' } as const
  }
  store.addToInbox({ kind: 'said', mode: isWaiting ? 'steer' : 'redirect', runId, message })
  return undefined
}

/** The options of the new request, with the authority that both requests share. */
function renewOptions({ meta }: Session, { options: held }: Turn, asked: TurnOptions): TurnOptions {
  const model = asked.model ?? held.model ?? meta.model ?? undefined
  return {
    ...asked,
    ...(model !== undefined && { model }),
    ...(held.asker && { asker: held.asker }),
    ...narrowAuthority(held, asked),
  }
}

const narrowOptions = ({ options: held }: Turn, asked: TurnOptions): TurnOptions => ({
  ...held,
  ...narrowAuthority(held, asked),
})

/** From here on the turn may do only what everybody may whose message it contains. */
function narrowAuthority({ authority: held }: TurnOptions, { authority: asked }: TurnOptions) {
  const authority = held && asked ? narrow(held, asked) : (held ?? asked)
  return authority && { authority }
}
