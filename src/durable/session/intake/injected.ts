/**
 * Submits messages that nobody typed: results of jobs, subagents and background turns, and notices of background
 * processes. Each counts once. They wait while a turn is open, and everything that waits then is one turn.
 */

import { allMarks, joinMarks } from '#agent/core/marks.ts'
import { actAs, type Authority } from '#agent/core/permission/authority.ts'
import { combineAuthorities, type Contributors } from '#agent/core/permission/contribution.ts'
import { type UserMessage, userText } from '#agent/core/message.ts'
import type { OwnedOptions } from '#agent/core/turn-options.ts'
import { clock } from '#durable/platform/clock.ts'
import type { InjectedMessage, WaitingMessage } from '#durable/storage/injected-messages.ts'
import { leastAuthority, turnAuthority } from '#durable/turn/turn-authority.ts'
import type { Session } from '../session.ts'
import { appendInjected } from '../core/append-injected.ts'
import type { Intake, Submitted } from './intake.ts'

export type InjectedSubmission = {
  readonly kind: 'injected'
  /** The authority of the turn that reads the message. */
  readonly authority: Authority
  /** The id of the run that the message starts, if it starts one. */
  readonly runId: string
  /** Absent: submits what waits. */
  readonly message?: InjectedMessage
}

const maxDeliveredChars = 200_000
/** Characters of one turn; the rest is another turn. */
const maxTurnChars = 400_000

export function injectedIntake(session: Session, submission: InjectedSubmission): Intake {
  const { runId, message } = submission
  return {
    runId,
    validate: () => (message && message.text.length > maxDeliveredChars ? { runId, status: 'too-large' } : undefined),
    open: async () => {
      if (!session.exists && !(message && (await session.load()))) return false
      await session.ensureTenant()
      return session.exists && 'exists'
    },
    findOutcome: (isRecheck) => (isRecheck ? waitingOutcome(session, runId) : storeMessage(session, submission)),
    // The messages count as delivered with the write that opens the turn: no await is between them.
    compose: () => (isIdle(session) ? composeTurn(session) : undefined),
    join: () => ({ runId, status: 'stored' }),
  }
}

/** A driver that is about to stop may still open a queued turn. */
export const isIdle = ({ store, driver, turns }: Session): boolean =>
  !store.hasOpenTurn && !driver.isDriving && !turns.isClosing

/** Whether something waits that a turn has to answer. */
export const hasWaiting = ({ injected, toolRuntime }: Session): boolean =>
  injected.waiting().some(({ startsTurn }) => startsTurn) || toolRuntime.processes.hasNotice()

/** Stores the message. Undefined when a turn has to start now. */
function storeMessage(session: Session, { authority, message, runId }: InjectedSubmission): Submitted | undefined {
  const { injected } = session
  if (message && injected.has(message.key)) return { runId, status: 'duplicate' }
  if (message && !injected.hasRoomFor(message)) return { runId, status: 'too-large' }
  if (message) {
    // Stored with its metadata, so that the object finds the session after an eviction even without a turn.
    if (session.journal.isBlank) session.updateMeta({})
    injected.add(message, authority, clock.now())
  }
  if (isIdle(session) && appendInjected(session)) session.runInBackground(session.turns.project())
  session.turns.arm()
  return waitingOutcome(session, runId)
}

/** Undefined while a turn can start and has something to answer. */
function waitingOutcome(session: Session, runId: string): Submitted | undefined {
  const canStart = isIdle(session) && !session.access.isPaused && hasWaiting(session)
  return canStart ? undefined : { runId, status: 'stored' }
}

function composeTurn(session: Session): { message: UserMessage; options: OwnedOptions } | undefined {
  const { injected, toolRuntime, sessionId } = session
  const due = chooseDue(injected.waiting())
  injected.markTaken(due)
  const news = toolRuntime.processes.takeNotice()
  // A process reads the workspace, and one that may have fetched something has marked all files.
  const notice = news && { ...news.message, marks: toolRuntime.fileMarks.all() }
  const message = joinTexts([
    ...due.map((one) => userText(one.text, one.source, one.marks ?? allMarks)),
    ...(notice ? [notice] : []),
  ])
  const ofProcesses = (news?.contributors ?? []).map((by) =>
    actAs(by ?? leastAuthority(session), { kind: 'process', id: sessionId }),
  )
  const [first, ...others] = [...due.map(({ authority }) => authority), ...ofProcesses]
  // The turn may do only what all may whose messages it reads.
  return message && first && { message, options: lastingOptions(session, [first, ...others]) }
}

/** The messages of the next turn, in their order. */
function chooseDue(waiting: readonly WaitingMessage[]): readonly WaitingMessage[] {
  const due = waiting.filter(({ startsTurn }) => startsTurn)
  let chars = 0
  const end = due.findIndex(({ text }, i) => (chars += text.length) > maxTurnChars && i > 0)
  return end < 0 ? due : due.slice(0, end)
}

function joinTexts([first, ...others]: readonly UserMessage[]): UserMessage | undefined {
  if (!first) return undefined
  const separated = others.flatMap(({ content }) => [{ type: 'text' as const, text: '\n\n' }, ...content])
  const marks = joinMarks(...[first, ...others].map((one) => one.marks ?? allMarks))
  return { ...first, content: [...first.content, ...separated], marks }
}

/**
 * The options of an earlier request that hold for the whole conversation, for a turn of these contributors. Its client is
 * not here any more. Whoever has given its instructions contributes too.
 */
export function lastingOptions(session: Session, contributors: Contributors): OwnedOptions {
  const { options = {} } = session.store.current() ?? {}
  const { model, instructions, temperature, maxTokens, reasoningEffort, asker } = options
  const instructors = instructions === undefined ? [] : [turnAuthority(session)]
  return {
    ...(model !== undefined && { model }),
    ...(instructions !== undefined && { instructions }),
    ...(temperature !== undefined && { temperature }),
    ...(maxTokens !== undefined && { maxTokens }),
    ...(reasoningEffort !== undefined && { reasoningEffort }),
    ...(asker && { asker }),
    authority: combineAuthorities([...contributors, ...instructors]),
  }
}
