/**
 * The only entry into a session. Every message passes through `submit`: it opens the session, recognises repeats,
 * admits the turn against the limits, and then starts a turn or passes the message to the open one.
 */

import { isOwnTenant } from './core/check-caller.ts'
import { withRecalled } from '#agent/memory/recalled-context.ts'
import { failpoint } from '#durable/platform/failpoint.ts'
import { logIdsOf, withLogContext } from '#durable/platform/log-context.ts'
import type { Admission } from '#durable/tenant/effective-limits.ts'
import { isUnattendedTurn, startsItself } from '#agent/policy/unattended.ts'
import { isWaitingForCaller } from '#durable/turn/pending-requests.ts'
import { type Preparation, prepareTurn } from '#durable/turn/prepare-turn.ts'
import { type ContinueCommand, continueIntake } from './intake/continue.ts'
import { type DeliveryCommand, deliveryIntake } from './intake/injected.ts'
import { inboundIntake } from './intake/inbound.ts'
import type { InboundCommand } from './intake/inbound-command.ts'
import type { Intake, Submitted } from './intake/intake.ts'
import { type RequestCommand, requestIntake } from './intake/request.ts'
import { type RetryCommand, retryIntake } from './intake/retry.ts'
import { type SelfStartedCommand, selfStartedIntake } from './intake/self-started.ts'
import { type WebhookCommand, webhookIntake } from './intake/webhook.ts'
import { parseTyped, runCommand, typedText } from './commands/submit-command.ts'
import type { Session } from './session.ts'

export type SubmitCommand =
  | RequestCommand
  | ContinueCommand
  | InboundCommand
  | DeliveryCommand
  | RetryCommand
  | SelfStartedCommand
  | WebhookCommand

function intakeOf(session: Session, command: SubmitCommand, blobs: R2Bucket | undefined): Intake {
  switch (command.kind) {
    case 'request':
      return requestIntake(session, command, blobs)
    case 'continue':
      return continueIntake(session, command)
    case 'inbound':
      return inboundIntake(session, command)
    case 'delivery':
      return deliveryIntake(session, command)
    case 'retry':
      return retryIntake(session, command)
    case 'self-started':
      return selfStartedIntake(session, command)
    case 'webhook':
      return webhookIntake(session, command)
  }
}

/**
 * Undefined when there is no such session for the authority of the command. An accepted message is durable before the promise resolves. Rejects when
 * a limit must be checked and the tenant's object cannot be reached.
 */
export function submit(session: Session, command: SubmitCommand, blobs?: R2Bucket): Promise<Submitted | undefined> {
  const ids = { ...logIdsOf(command.authority), session_id: session.sessionId, run_id: command.runId }
  return withLogContext(
    () => ids,
    () => submitCommand(session, command, blobs),
  )
}

async function submitCommand(
  session: Session,
  command: SubmitCommand,
  blobs: R2Bucket | undefined,
): Promise<Submitted | undefined> {
  if (!isOwnTenant(session, command.authority)) return undefined
  const intake = intakeOf(session, command, blobs)
  const refused = intake.validate?.()
  if (refused) return refused
  const state = await intake.open()
  if (!state) return undefined
  const earlier = state === 'exists' ? intake.findOutcome(false) : undefined
  if (earlier) return earlier
  return submitTyped(session, { command, intake, blobs })
}

type Opened = { readonly command: SubmitCommand; readonly intake: Intake; readonly blobs: R2Bucket | undefined }

/** Runs the slash command of a message, or submits the message. */
async function submitTyped(session: Session, { command, intake, blobs }: Opened): Promise<Submitted | undefined> {
  const typed = parseTyped(command)
  const commanded = typed && (await runCommand(session, { ...typed, intake }))
  if (commanded?.kind === 'answered') return commanded.submitted
  if (commanded?.kind === 'replaced') return submitMessage(session, commanded.message, blobs)
  return submitTo(session, command, { ...intake, ...commanded?.change })
}

/** Submits the message that takes the place of a command. */
async function submitMessage(session: Session, command: SubmitCommand, blobs: R2Bucket | undefined) {
  const intake = intakeOf(session, command, blobs)
  const refused = intake.validate?.()
  if (refused) return refused
  return (await intake.open()) ? submitTo(session, command, intake) : undefined
}

async function submitTo(session: Session, command: SubmitCommand, intake: Intake): Promise<Submitted | undefined> {
  await intake.prepare?.()
  const outcome = await admitAndStart(session, intake, command)
  const isAccepted = outcome && ['running', 'queued', 'joined'].includes(outcome.status)
  if (!isAccepted) await intake.discard?.()
  return outcome
}

/** Reserves a slot among the tenant's turns if a turn would start, and releases it when none did. */
async function admitAndStart(session: Session, intake: Intake, command: SubmitCommand): Promise<Submitted | undefined> {
  if (session.store.hasOpenTurn) return admitAndJoin(session, intake)
  // Without limits nothing is awaited: creating the session and its first turn are one write.
  const admitting = session.billing.admit(intake.runId, unattendedTurnOf(session, command))
  const admission = admitting instanceof Promise ? await admitting : admitting
  if (!session.exists && !session.turns.isClosing && admission.ok) intake.create?.()
  let outcome: Submitted | undefined
  try {
    outcome = await prepareAndStart(session, intake, admission, command)
  } finally {
    if (admission.ok && outcome?.status !== 'running') session.turns.settle(intake.runId)
  }
  return outcome
}

/** A turn that waits for its caller has no slot. An answer takes one again; when it waits still, it is released. */
async function admitAndJoin(session: Session, intake: Intake): Promise<Submitted | undefined> {
  const turn = session.store.turn()
  if (!isWaitingForCaller(turn.stage)) return startOrJoin(session, intake, { ok: true })
  const admitting = session.billing.admitAgain(turn.id)
  const admission = admitting instanceof Promise ? await admitting : admitting
  if (!admission.ok) {
    intake.refuse?.()
    return { runId: intake.runId, status: 'over-limit', limit: admission.limit, retryAfter: admission.retryAfter }
  }
  const outcome = startOrJoin(session, intake, admission)
  session.turns.releaseWhileWaiting()
  return outcome
}

/** Undefined when a person has sent the command. */
function unattendedTurnOf(session: Session, { authority, kind, ...command }: SubmitCommand) {
  const spec = 'target' in command && command.target.kind === 'create' ? command.target.spec : undefined
  const source = session.exists ? session.meta.source : kind === 'webhook' ? kind : spec?.source
  if (!isUnattendedTurn(source ?? '', authority)) return undefined
  return { sessionId: session.sessionId, isSelfStarted: startsItself(kind, authority) }
}

function prepareAndStart(session: Session, intake: Intake, admission: Admission, command: SubmitCommand) {
  const placing = session.exists && admission.ok ? intake.placeFiles?.() : undefined
  return placing
    ? placing.then(() => prepareTurnAndStart(session, intake, admission, command))
    : prepareTurnAndStart(session, intake, admission, command)
}

function prepareTurnAndStart(session: Session, intake: Intake, admission: Admission, command: SubmitCommand) {
  const { authority } = command
  if (!session.exists || !admission.ok) return startOrJoin(session, intake, admission)
  const preparation = prepareTurn(session, { model: intake.model, authority })
  const recalling = session.recall(authority, typedText(command))
  return preparation instanceof Promise || recalling
    ? Promise.all([preparation, recalling]).then(([prepared, recalled]) =>
        startOrJoin(session, intake, admission, { ...prepared, recalled }),
      )
    : startOrJoin(session, intake, admission, preparation)
}

/** Starts a turn or joins the open one. It does not await, so that no other command can run in between. */
function startOrJoin(
  session: Session,
  intake: Intake,
  admission: Admission,
  { recalled, ...preparation }: Preparation & { readonly recalled?: string | undefined } = {},
): Submitted | undefined {
  if (session.turns.isClosing || (!session.exists && admission.ok)) return undefined
  // The same command may have been submitted again while this one waited.
  const earlier = session.exists ? intake.findOutcome(true) : undefined
  if (earlier) return earlier
  if (session.exists && session.store.hasOpenTurn) return intake.join()
  if (admission.ok) return startTurn(session, intake, { recalled, ...preparation })
  intake.refuse?.()
  const { limit, retryAfter } = admission
  return { runId: intake.runId, status: 'over-limit', limit, retryAfter }
}

function startTurn(
  session: Session,
  intake: Intake,
  { recalled, ...preparation }: Preparation & { readonly recalled?: string | undefined },
): Submitted {
  const { runId } = intake
  const composed = intake.compose()
  if (!composed) return { runId, status: 'nothing' }
  const { message } = composed
  const opening = message.role === 'user' ? withRecalled(message, recalled) : message
  session.turns.start({ runId, ...composed, message: opening }, preparation)
  void failpoint('accepted')
  return { runId, status: 'running' }
}
