/**
 * The only entry into a session. Every message passes through `submit`: it opens the session, recognises repeats,
 * admits the turn against the limits, and then starts a turn or passes the message to the open one.
 */

import { isOwnTenant } from './own-tenant.ts'
import { failpoint } from '../platform/failpoint.ts'
import type { Admission } from '../tenant/effective-limits.ts'
import { isUnattendedTurn, startsItself } from '../../agent/policy/unattended.ts'
import { prepareTurn } from '../turn/prepare-turn.ts'
import { type InboundCommand, inboundIntake } from './intake/inbound.ts'
import type { Intake, Submitted } from './intake/intake.ts'
import { processNoticeIntake, type ProcessNoticeCommand } from './intake/process-notice.ts'
import { type RequestCommand, requestIntake } from './intake/request.ts'
import { type RetryCommand, retryIntake } from './intake/retry.ts'
import type { Session } from './session.ts'

export type SubmitCommand = RequestCommand | InboundCommand | ProcessNoticeCommand | RetryCommand

function intakeOf(session: Session, command: SubmitCommand, blobs: R2Bucket | undefined): Intake {
  switch (command.kind) {
    case 'request':
      return requestIntake(session, command, blobs)
    case 'inbound':
      return inboundIntake(session, command)
    case 'process-notice':
      return processNoticeIntake(session, command)
    case 'retry':
      return retryIntake(session, command)
  }
}

/**
 * Undefined when there is no such session for the authority of the command. An accepted message is durable before the promise resolves. Rejects when
 * a limit must be checked and the tenant's object cannot be reached.
 */
export async function submit(
  session: Session,
  command: SubmitCommand,
  blobs?: R2Bucket,
): Promise<Submitted | undefined> {
  if (!isOwnTenant(session, command.authority)) return undefined
  const intake = intakeOf(session, command, blobs)
  const refused = intake.validate?.()
  if (refused) return refused
  const state = await intake.open()
  if (!state) return undefined
  const earlier = state === 'exists' ? intake.findOutcome(false) : undefined
  if (earlier) return earlier
  await intake.prepare?.()
  const outcome = await admitAndStart(session, intake, command)
  const isAccepted = outcome && ['running', 'queued', 'joined'].includes(outcome.status)
  if (!isAccepted) await intake.discard?.()
  return outcome
}

/** Reserves a slot among the tenant's turns if a turn would start, and releases it when none did. */
async function admitAndStart(session: Session, intake: Intake, command: SubmitCommand): Promise<Submitted | undefined> {
  if (session.store.hasOpenTurn) return startOrJoin(session, intake, { ok: true })
  // Without limits nothing is awaited: creating the session and its first turn are one write.
  const admitting = session.billing.admit(intake.runId, unattendedTurnOf(session, command))
  const admission = admitting instanceof Promise ? await admitting : admitting
  if (!session.exists && !session.turns.isClosing && admission.ok) intake.create?.()
  let outcome: Submitted | undefined
  try {
    outcome = await prepareAndStart(session, intake, admission)
  } finally {
    if (admission.ok && outcome?.status !== 'running') session.turns.settle(intake.runId)
  }
  return outcome
}

/** Undefined when a person has sent the command. */
function unattendedTurnOf(session: Session, { authority, kind, ...command }: SubmitCommand) {
  const spec = 'target' in command && command.target.kind === 'create' ? command.target.spec : undefined
  const source = session.exists ? session.meta.source : spec?.source
  if (!isUnattendedTurn(source ?? '', authority)) return undefined
  return { sessionId: session.sessionId, isSelfStarted: kind === 'process-notice' || startsItself(authority) }
}

function prepareAndStart(session: Session, intake: Intake, admission: Admission) {
  const placing = session.exists && admission.ok ? intake.placeFiles?.() : undefined
  return placing
    ? placing.then(() => prepareTurnAndStart(session, intake, admission))
    : prepareTurnAndStart(session, intake, admission)
}

function prepareTurnAndStart(session: Session, intake: Intake, admission: Admission) {
  const preparation = session.exists && admission.ok ? prepareTurn(session) : {}
  return preparation instanceof Promise
    ? preparation.then((prepared) => startOrJoin(session, intake, admission, prepared))
    : startOrJoin(session, intake, admission, preparation)
}

/** Starts a turn or joins the open one. It does not await, so that no other command can run in between. */
function startOrJoin(
  session: Session,
  intake: Intake,
  admission: Admission,
  preparation: { readonly prompt?: string } = {},
): Submitted | undefined {
  if (session.turns.isClosing || (!session.exists && admission.ok)) return undefined
  // The same command may have been submitted again while this one waited.
  const earlier = session.exists ? intake.findOutcome(true) : undefined
  if (earlier) return earlier
  if (session.exists && session.store.hasOpenTurn) return intake.join()
  const { runId } = intake
  if (!admission.ok) {
    intake.refuse?.()
    const { limit, retryAfter } = admission
    return { runId, status: 'over-limit', limit, retryAfter }
  }
  const composed = intake.compose()
  if (!composed) return { runId, status: 'nothing' }
  session.turns.start({ runId, ...composed }, preparation)
  void failpoint('accepted')
  return { runId, status: 'running' }
}
