/**
 * Submits the events of a messaging platform. The key of the event and the message are written in one synchronous
 * stretch: however often and however concurrently the platform delivers an event, it counts once.
 */

import type { Authority } from '../../../agent/model/permission/authority.ts'
import type { ChatAuthor, ChatOrigin } from '../../../agent/model/delivery.ts'
import { userText } from '../../../agent/model/message.ts'
import { clock } from '../../platform/clock.ts'
import type { TenantSnapshot } from '../../tenant/tenant-snapshot.ts'
import { isQuestion, pendingRequests } from '../../turn/pending-requests.ts'
import { resetIfDue } from '../commands/reset-chat.ts'
import { joinOpenTurn } from './join-turn.ts'
import type { Session } from '../session.ts'
import type { BusyMode, Intake, Submitted } from './intake.ts'
import { prepareTypedDecisions, type TypedDecisions } from './typed-decision.ts'

export type InboundCommand = {
  readonly kind: 'inbound'
  /** That of the person who wrote the message. */
  readonly authority: Authority
  /** The same for every delivery of the same event. */
  readonly key: string
  /** The id of the run that the event starts: also the same for every delivery. */
  readonly runId: string
  readonly origin: ChatOrigin
  readonly asker: ChatAuthor
  /** The display name of the sender. */
  readonly name: string
  readonly text: string
  /** The message is not meant for the agent: the next turn of this chat includes it. */
  readonly isUnaddressed: boolean
  readonly mode: BusyMode
  readonly tenant: TenantSnapshot
}

export function inboundIntake(session: Session, command: InboundCommand): Intake {
  const { key, runId, origin, asker, authority, tenant, isUnaddressed } = command
  const { inboundEvents } = session.delivery
  let typed: TypedDecisions | undefined
  return {
    runId,
    open: async () => {
      await session.tenant.update(tenant)
      if (session.turns.isClosing) return false
      if (!session.exists && !(await session.load())) session.create({ source: origin.platform, origin })
      if (!isUnaddressed && !inboundEvents.has(key)) resetIfDue(session)
      return session.exists && 'exists'
    },
    findOutcome: (isRecheck) => {
      if (inboundEvents.has(key)) return { runId, status: 'duplicate' }
      return command.isUnaddressed && !isRecheck ? storeUnaddressed(session, command) : undefined
    },
    compose: () => ({ message: composeMessage(session, command), options: { asker, authority } }),
    prepare: async () => {
      if (session.store.hasOpenTurn) typed = await prepareTypedDecisions(session, authority, userText(command.text))
    },
    join: () => (typed ? decide(session, command, typed) : join(session, command)),
    acknowledge: (text) => {
      inboundEvents.record(key, clock.now())
      storeSession(session)
      if (text) session.delivery.sendNotice(text, runId)
    },
    refuse: () => {
      inboundEvents.record(key, clock.now())
      storeSession(session)
      session.delivery.sendNotice(
        'A limit of this tenant is reached, so this was not accepted. Please try again later.',
      )
    },
  }
}

const lineOf = ({ origin, name, text }: InboundCommand): string => (origin.isGroup ? `${name}: ${text}` : text)

/** Stores the session, so that the object finds it after an eviction even without a turn. */
function storeSession(session: Session): void {
  if (session.journal.isBlank) session.updateMeta({})
}

function storeUnaddressed(session: Session, command: InboundCommand): Submitted {
  storeSession(session)
  session.delivery.inboundEvents.record(command.key, clock.now(), lineOf(command))
  return { runId: command.runId, status: 'stored' }
}

function composeMessage(session: Session, command: InboundCommand) {
  const { inboundEvents } = session.delivery
  inboundEvents.record(command.key, clock.now())
  const line = lineOf(command)
  const before = inboundEvents.takeUnaddressed()
  return userText(before.length ? `[Said in the group before, not to you:]\n${before.join('\n')}\n\n${line}` : line)
}

/** Applies a decision that was typed into the chat. It is no part of the conversation. */
function decide(session: Session, command: InboundCommand, { mayDecide, decisions }: TypedDecisions): Submitted {
  const { key, runId, mode, asker, authority } = command
  session.delivery.inboundEvents.record(key, clock.now())
  if (!mayDecide) session.delivery.sendNotice('Only who asked, or an admin, may answer this.')
  else if (!decisions.length) session.delivery.sendNotice('This cannot be decided so. Press a button instead.')
  return joinOpenTurn(session, { runId, mode, options: { asker, authority }, answers: { decisions } }, undefined)
}

function join(session: Session, command: InboundCommand): Submitted {
  const { asker, authority } = command
  const message = composeMessage(session, command)
  // While a question is open, a message of the person is its answer in every busy mode.
  const hasQuestion = pendingRequests(session).some(isQuestion)
  const mode = hasQuestion ? 'steer' : command.mode
  const outcome = joinOpenTurn(session, { runId: command.runId, mode, options: { asker, authority } }, message)
  if (outcome.status === 'too-large')
    session.delivery.sendNotice('Too many messages wait already, so this was not accepted. Please send it again later.')
  return outcome
}
