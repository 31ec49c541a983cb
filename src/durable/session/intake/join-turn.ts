/** Passes a message to the open turn: queues it behind the turn, steers or interrupts it, or answers what it waits for. */

import { continueCall, narrowTurn, settlePendingCall } from '#agent/loop/turn-changes.ts'
import type { TurnAuthority } from '#agent/core/permission/contribution.ts'
import { textIn, type ToolMessage, type UserMessage } from '#agent/core/message.ts'
import { callerCalls, type Turn } from '#agent/core/turn.ts'
import type { OwnedOptions, TurnOptions } from '#agent/core/turn-options.ts'
import { defaultSettings } from '#agent/core/settings.ts'
import { failpoint } from '#durable/platform/failpoint.ts'
import { fitsRow } from '#durable/platform/row-size.ts'
import type { Session } from '../session.ts'
import type { BusyMode, Submitted } from './intake.ts'
import { continueTurn } from '#agent/loop/segment.ts'
import { maxTurns } from '#durable/tenant/tenant-snapshot.ts'
import { createAnswer, isApproval, isQuestion, pendingRequests, type Question } from '#durable/turn/pending-requests.ts'
import { recordContribution } from '../core/contributions.ts'
import { applyDecision, isPending, type PreparedDecision, withdrawApproval } from '../core/approvals.ts'

export type Joining = {
  readonly runId: string
  /** Undefined: the setting `busy_input_mode` decides. */
  readonly mode: BusyMode | undefined
  readonly options: OwnedOptions
  /** The pending requests that the request answers besides its message. */
  readonly answers?: Answers
  /** So many messages may wait. Undefined: as many as the inbox keeps. */
  readonly maxWaiting?: number | undefined
}

/** Without a message the request only answers what the turn waits for. */
export function joinOpenTurn(session: Session, joining: Joining, message: UserMessage | undefined): Submitted {
  const { store } = session
  const { runId, options, answers = {}, maxWaiting } = joining
  const { mode, isForced } = chooseMode(session, joining)
  if (message && !canAccept(session, { message, mode, maxWaiting })) return { runId, status: 'too-large' }
  const isWaiting = callerCalls(store.turn().stage).length > 0
  // A message can be asked to wait; a decision without one is taken in every mode.
  const isAnswer = !(message && isForced && mode === 'queue')
  const answer = isWaiting ? answerWaiting : answerRunning
  const answered = isAnswer && answer(session, { ...answers, runId, mode, options, message })
  return accepted(session, answered || addToOpenTurn(session, { runId, options, mode }, message))
}

/** A request that reads the run by its parts has no mode of its own for a turn that waits for it. */
function chooseMode({ store, settings }: Session, { mode: asked, answers }: Joining) {
  const isCaller = answers?.isCaller === true && callerCalls(store.turn().stage).length > 0
  const mode = (isCaller ? undefined : asked) ?? settings.busy_input_mode ?? defaultSettings.busyMode
  return { mode, isForced: !isCaller && asked !== undefined }
}

function addToOpenTurn(
  session: Session,
  { runId, options, mode }: Pick<Joining, 'runId' | 'options'> & { readonly mode: BusyMode },
  message: UserMessage | undefined,
): Submitted {
  const { store } = session
  const joined = { runId: store.turn().id, status: 'joined' } as const
  if (!message) return joined
  if (mode === 'queue') {
    store.addToInbox({ kind: 'queued', runId, message, options })
    store.addEvent({ type: 'run.queued', run_id: runId, input: textIn(message).slice(0, maxInputChars) })
    store.write()
    return { runId, status: 'queued' }
  }
  const { authority: by } = options
  narrowOpenTurn(session, by)
  store.addToInbox({ kind: 'said', mode: mode === 'steer' ? 'steer' : 'redirect', runId, message, by })
  if (mode === 'interrupt' && store.turn().stage.at === 'calling-model') session.driver.abort()
  return joined
}

/** From here on the turn may do only what everybody may whose message it contains. */
function narrowOpenTurn(session: Session, by: TurnAuthority): void {
  const { store } = session
  const turn = store.turn()
  recordContribution(session, by)
  const narrowed = narrowTurn(turn, by)
  if (narrowed === turn) return
  store.save({ turn: narrowed })
  store.write()
}

function accepted(session: Session, outcome: Submitted): Submitted {
  session.turns.resumeIfUndriven()
  void failpoint('accepted')
  return outcome
}

/** The event has the beginning of the message. */
const maxInputChars = 2_000

/** Limits of the inbox, because it is loaded into memory as a whole. */
const maxWaitingMessages = 200
const maxWaitingChars = 8_000_000

/** The turn joins all steering messages into one. */
function canAccept(
  session: Session,
  { message, mode, maxWaiting }: { message: UserMessage; mode: BusyMode; maxWaiting: number | undefined },
): boolean {
  const waiting = session.store.inbox().map((item) => item.message)
  return hasRoom(session, message, maxWaiting) && (mode === 'queue' || fitsRow([...waiting, message]))
}

function hasRoom({ store }: Session, message: UserMessage, maxMessages = maxWaitingMessages): boolean {
  const waiting = store.inboxRows()
  const characters = waiting.reduce((sum, { size }) => sum + size, JSON.stringify(message).length)
  return waiting.length < maxMessages && characters <= maxWaitingChars
}

// Answers what a suspended turn waits for: results of tools of the client, decisions, the answer to a question, or a
// message that is none of these and takes effect by the busy mode.

type Answers = {
  readonly results?: readonly ToolMessage[]
  readonly decisions?: readonly PreparedDecision[]
  /** The sender has begun the run and reads its parts: calls of the client that it does not answer are given up. */
  readonly isCaller?: boolean
}

type Answering = Answers & {
  readonly runId: string
  readonly mode: BusyMode
  readonly options: OwnedOptions
  readonly message: UserMessage | undefined
}

/** Nothing is awaited here: the answers, and what follows from them, are one write. Undefined when nothing is answered. */
function answerWaiting(session: Session, answering: Answering): Submitted | undefined {
  const { store } = session
  const answers = collectAnswers(session, answering)
  if (!answers.results.length && !answers.continued.size && !answers.decisions.length && !answers.givesUp)
    return undefined
  const turn = narrowTurn(store.turn(), answering.options.authority)
  const { rest, ...given } = answers
  const options = answering.isCaller ? renewOptions(session, turn, answering.options) : turn.options
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

/** Other calls run beside those that wait: each answer takes effect by itself, and the run goes on in its part. */
function answerRunning(
  session: Session,
  { runId, options, decisions = [], message }: Answering,
): Submitted | undefined {
  const { store } = session
  for (const decision of decisions) applyDecision(session, options.authority, decision)
  const question = message && findQuestion(session, message)
  if (!question) return undefined
  const turn = narrowTurn(store.turn(), options.authority)
  const text = textIn(message)
  const commit = question.state
    ? continueCall(turn, question.call_id, { text })
    : settlePendingCall(turn, createAnswer(question, text, message.marks), session.driver.view())
  store.save({ ...commit, requestId: runId })
  store.write()
  session.turns.resume()
  return { runId: turn.id, status: 'joined' }
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
      ...(question && !question.state ? [createAnswer(question, textIn(message), message.marks)] : []),
    ],
    continued: findContinued(question, message),
    allowed: new Map(made.filter(({ denial }) => !denial).map(({ call }) => [call.id, call.awaits.hash])),
    decisions: made.map(({ decision }) => decision),
    givesUp: isCaller || isInterrupt,
    rest,
  }
}

/** An answer to a server continues its call, which finds out whether it fits. */
const findContinued = (question: Question | undefined, message: UserMessage | undefined): ReadonlyMap<string, string> =>
  new Map(question?.state && message ? [[question.call_id, textIn(message)]] : [])

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
  const by = options.authority
  store.addToInbox({ kind: 'said', mode: isWaiting ? 'steer' : 'redirect', runId, message, by })
  return undefined
}

/** The options of the new request, with the authority that both requests share. */
function renewOptions({ meta }: Session, { options: held }: Turn, asked: TurnOptions): TurnOptions {
  const model = asked.model ?? held.model ?? meta.model ?? undefined
  return {
    ...asked,
    ...(model !== undefined && { model }),
    ...(held.asker && { asker: held.asker }),
    ...(held.authority && { authority: held.authority }),
  }
}
