/**
 * The only entry into a session. Every message passes through `submit`, step by step: read it, recognise a repeat, run
 * a slash command, admit a turn against the limits, prepare it, and start a turn or join the open one.
 */

import { isForTenant, mayOpen } from './core/check-caller.ts'
import { textIn, type ToolCallPart, type UserMessage, type WorkspaceState } from '#agent/core/message.ts'
import { withRecalled } from '#agent/memory/recalled-context.ts'
import { failpoint } from '#durable/platform/failpoint.ts'
import { logIdsOf, withLogContext } from '#durable/platform/log-context.ts'
import type { Admission } from '#durable/tenant/effective-limits.ts'
import { isUnattendedTurn, startsItself } from '#agent/policy/unattended.ts'
import { isWaitingForCaller } from '#durable/turn/pending-requests.ts'
import { type Preparation, prepareTurn } from '#durable/turn/prepare-turn.ts'
import { continueIntake, type ContinueSubmission } from './intake/continue.ts'
import { injectedIntake, type InjectedSubmission, isIdle } from './intake/injected.ts'
import { inboundIntake, type InboundSubmission } from './intake/inbound.ts'
import type { Composed, Intake, Submitted } from './intake/intake.ts'
import { requestIntake, type RequestSubmission } from './intake/request.ts'
import { webhookIntake, type WebhookSubmission } from './intake/webhook.ts'
import { runSlashCommand, writtenText } from './commands/run-slash-command.ts'
import { joinConversation } from './core/contributions.ts'
import type { Session } from './session.ts'
import { combineAuthorities } from '#agent/core/permission/contribution.ts'
import type { Authority } from '#agent/core/permission/authority.ts'
import type { TenantSnapshot } from '#durable/tenant/tenant-snapshot.ts'
import { runOf } from './views/read-session.ts'
import { repeatOptions, undoTurns } from './core/undo.ts'
import { keepVersion } from './core/versions.ts'

export type Submission =
  | RequestSubmission
  | ContinueSubmission
  | InboundSubmission
  | InjectedSubmission
  | RetrySubmission
  | SelfStartedSubmission
  | WebhookSubmission

function intakeOf(session: Session, submission: Submission, blobs: R2Bucket | undefined): Intake {
  switch (submission.kind) {
    case 'request':
      return requestIntake(session, submission, blobs)
    case 'continue':
      return continueIntake(session, submission, blobs)
    case 'inbound':
      return inboundIntake(session, submission)
    case 'injected':
      return injectedIntake(session, submission)
    case 'retry':
      return retryIntake(session, submission)
    case 'self-started':
      return selfStartedIntake(session, submission)
    case 'webhook':
      return webhookIntake(session, submission)
  }
}

/**
 * Undefined when there is no such session for the authority of the submission. An accepted message is durable before the
 * promise resolves. Rejects when a limit must be checked and the tenant's object cannot be reached.
 */
export function submit(session: Session, submission: Submission, blobs?: R2Bucket): Promise<Submitted | undefined> {
  const ids = { ...logIdsOf(submission.authority), session_id: session.sessionId, run_id: submission.runId }
  return withLogContext(
    () => ids,
    () => takeSteps(session, submission, blobs),
  )
}

async function takeSteps(
  session: Session,
  submission: Submission,
  blobs: R2Bucket | undefined,
): Promise<Submitted | undefined> {
  const first = await read(session, submission, blobs)
  if ('outcome' in first) return first.outcome
  const repeated = first.isNew ? undefined : first.intake.findOutcome(false)
  if (repeated) return repeated
  const entry = await runCommand(session, first, blobs)
  if ('outcome' in entry) return entry.outcome
  await entry.intake.prepare?.()
  await updateFromProject(session, submission)
  const admitting = admit(session, entry)
  const slot = admitting instanceof Promise ? await admitting : admitting
  let outcome: Submitted | undefined
  try {
    // Without limits nothing is awaited from here on: creating the session and its first turn are one write.
    create(session, entry, slot.admission)
    const preparing = prepare(session, entry, slot.admission)
    const prepared = preparing instanceof Promise ? await preparing : preparing
    outcome = startOrJoin(session, entry.intake, slot.admission, prepared)
  } finally {
    if (slot.admission.ok) slot.release(outcome)
  }
  const isAccepted = outcome && ['running', 'queued', 'joined'].includes(outcome.status)
  if (!isAccepted) await entry.intake.discard?.()
  return outcome
}

/** A turn that begins has the instructions and files that its project has now. */
async function updateFromProject(session: Session, { authority }: Submission): Promise<void> {
  if (!session.exists || !session.meta.project || session.store.hasOpenTurn) return
  await (await import('./core/project.ts')).updateFromProject(session, authority)
}

/** A submission whose session is open, or created by its first turn (`isNew`). */
type RoutedSubmission = { readonly submission: Submission; readonly intake: Intake; readonly isNew: boolean }
/** The submission has its outcome. Undefined: there is no such session. */
type Ended = { readonly outcome: Submitted | undefined }

/** Validates the submission and opens its session. */
async function read(
  session: Session,
  submission: Submission,
  blobs: R2Bucket | undefined,
): Promise<RoutedSubmission | Ended> {
  if (!isForTenant(session, submission.authority)) return { outcome: undefined }
  const intake = intakeOf(session, submission, blobs)
  const refused = intake.validate?.()
  if (refused) return { outcome: refused }
  const state = await intake.open()
  const isOpen = state === 'new' || (state && (isOfSession(submission) || mayOpen(session, submission.authority)))
  return isOpen ? { submission, intake, isNew: state === 'new' } : { outcome: undefined }
}

/** Deliveries, and turns that the session starts by itself, were allowed when they were set up. */
const isOfSession = ({ kind }: Submission): boolean => kind === 'injected' || kind === 'self-started'

/** Runs the slash command of a message. The command answers it, replaces it, or changes how it goes on. */
async function runCommand(
  session: Session,
  entry: RoutedSubmission,
  blobs: R2Bucket | undefined,
): Promise<RoutedSubmission | Ended> {
  const commanded = await runSlashCommand(session, entry.submission, entry.intake)
  switch (commanded.kind) {
    case 'answered':
      return { outcome: commanded.submitted }
    case 'replaced':
      return read(session, commanded.message, blobs)
    case 'goes-on':
      return { ...entry, intake: { ...entry.intake, ...commanded.change } }
  }
}

/** The admission, and how its slot among the tenant's turns is given back when the outcome is known. */
type Slot = { readonly admission: Admission; readonly release: (outcome: Submitted | undefined) => void }

/** Returns at once when no limit needs the tenant's object. */
function admit(session: Session, { submission, intake }: RoutedSubmission): Slot | Promise<Slot> {
  const { store, billing, turns } = session
  if (!store.hasOpenTurn) {
    const release = (outcome?: Submitted) => {
      if (outcome?.status !== 'running') turns.settle(intake.runId)
    }
    return withRelease(billing.admit(intake.runId, getUnattendedTurn(session, submission)), release)
  }
  const { id, stage } = store.turn()
  // An open turn has its slot. One that waits for its caller has none: an answer takes one again, until it waits anew.
  if (!isWaitingForCaller(stage)) return { admission: { ok: true }, release: () => undefined }
  return withRelease(billing.admitAgain(id), () => turns.releaseWhileWaiting())
}

const withRelease = (admitting: Admission | Promise<Admission>, release: Slot['release']): Slot | Promise<Slot> =>
  admitting instanceof Promise
    ? admitting.then((admission) => ({ admission, release }))
    : { admission: admitting, release }

/** Undefined when a person has sent the submission. */
function getUnattendedTurn(session: Session, { authority, kind, ...submission }: Submission) {
  const spec = 'target' in submission && submission.target.kind === 'create' ? submission.target.spec : undefined
  const source = session.exists ? session.meta.source : kind === 'webhook' ? kind : spec?.source
  if (!isUnattendedTurn(source ?? '', authority)) return undefined
  return { sessionId: session.sessionId, isSelfStarted: startsItself(kind, authority) }
}

function create(session: Session, { intake }: RoutedSubmission, { ok }: Admission): void {
  if (ok && !session.exists && !session.turns.isClosing) intake.create?.()
}

type Prepared = Preparation & {
  readonly recalled?: string | undefined
  /** Calls for the references of the message. */
  readonly references?: readonly ToolCallPart[] | undefined
  readonly state?: WorkspaceState | undefined
}

/**
 * Writes the files of the message, builds the prompt, asks the memory service, and looks for files that somebody changed on
 * a host. Returns at once when none has to wait.
 */
function prepare(session: Session, entry: RoutedSubmission, { ok }: Admission): Prepared | Promise<Prepared> {
  if (!session.exists || !ok) return {}
  const { submission, intake } = entry
  const placing = intake.placeFiles?.()
  if (placing) return placing.then(() => prepare(session, entry, { ok }))
  if (session.store.hasOpenTurn) return {}
  const authority = joinConversation(session, combineAuthorities([submission.authority]))
  const preparation = prepareTurn(session, { model: intake.model, authority })
  const recalling = session.recall(authority, writtenText(submission))
  const checking = session.toolRuntime.backend.known?.check()
  const reading = findReferences(session, authority, submission)
  const looking = findState(session, authority)
  const listing = session.tenant.listPrograms({ backend: session.toolRuntime.backend, sessionId: session.sessionId })
  return [preparation, recalling, checking, reading, looking, listing].some((each) => each instanceof Promise)
    ? Promise.all([preparation, recalling, reading, looking, checking, listing]).then(
        ([prepared, recalled, references, state]) => ({ ...prepared, recalled, references, state }),
      )
    : (preparation as Preparation)
}

/** Returns at once when there is no state to tell. No host is started for it. */
function findState(session: Session, { toolBounds }: Authority): Promise<WorkspaceState | undefined> | undefined {
  const { toolRuntime, settings } = session
  const { backend, processes } = toolRuntime
  if (settings.agent?.workspace_state === false) return undefined
  const hasFiles = ['virtual', 'http'].includes(backend.kind) && session.hasReadableFiles()
  if (!hasFiles && !processes.list().some(({ state }) => state.at === 'running')) return undefined
  const mayRun = toolRuntime.toolbox(settings, toolBounds ? { toolBounds } : {}).has('terminal')
  return mayRun ? readState(session, hasFiles) : undefined
}

async function readState(session: Session, hasFiles: boolean): Promise<WorkspaceState | undefined> {
  return (await import('#durable/turn/prompt/workspace-state.ts')).readWorkspaceState(session, hasFiles)
}

const mayHaveReferences = /@(?:(?:file|folder|url|session|git):|diff|staged)/

/** Returns at once for a message without references. */
function findReferences(session: Session, authority: Authority, submission: Submission) {
  const text = submission.kind === 'retry' ? lastTyped(session) : writtenText(submission)
  return mayHaveReferences.test(text) ? listReferences(session, authority, text) : undefined
}

const lastTyped = ({ store }: Session): string => {
  const last = store.transcript().findLast((message) => message.role === 'user' && !message.source)
  return last ? textIn(last) : ''
}

/** A reference to something that the turn has no tool for stays text. */
async function listReferences(
  { toolRuntime, settings }: Session,
  { toolBounds }: Authority,
  text: string,
): Promise<readonly ToolCallPart[]> {
  const { planReferences } = await import('#agent/prompt/references.ts')
  const tools = toolRuntime.toolbox(settings, toolBounds ? { toolBounds } : {})
  return planReferences(text).filter(({ name }) => tools.has(name))
}

/** Starts a turn or joins the open one. It does not await, so that nothing else is submitted in between. */
function startOrJoin(
  session: Session,
  intake: Intake,
  admission: Admission,
  prepared: Prepared,
): Submitted | undefined {
  if (session.turns.isClosing || (!session.exists && admission.ok)) return undefined
  // The same message may have been submitted again while this one waited.
  const repeated = session.exists ? intake.findOutcome(true) : undefined
  if (repeated) return repeated
  const openTurn = session.exists && session.store.hasOpenTurn ? session.store.turn() : undefined
  // A turn that waits for its caller needs a slot for the answer; any other one has its own.
  if (openTurn && (admission.ok || !isWaitingForCaller(openTurn.stage))) return intake.join()
  return admission.ok ? start(session, intake, prepared) : refuse(intake, admission)
}

function refuse(intake: Intake, { limit, retryAfter }: Exclude<Admission, { readonly ok: true }>): Submitted {
  intake.refuse?.()
  return { runId: intake.runId, status: 'over-limit', limit, retryAfter }
}

function start(session: Session, intake: Intake, { recalled, references, state, ...preparation }: Prepared): Submitted {
  const { runId } = intake
  const composed = intake.compose()
  if (!composed) return { runId, status: 'nothing' }
  const { message } = composed
  const opening = message.role === 'user' ? withNotes(session, message, { recalled, state }) : message
  const calls = composed.calls ?? (message.role === 'user' ? references : undefined)
  session.turns.start({ runId, ...composed, message: opening, ...(calls && { calls }) }, preparation)
  void failpoint('accepted')
  return { runId, status: 'running' }
}

const withNotes = (session: Session, message: UserMessage, { recalled, state }: Pick<Prepared, 'recalled' | 'state'>) =>
  withFileNews(session, { ...withRecalled(message, recalled), ...(state && { state }) })

/** Informs the model which files others have changed since the last turn. In the first turn no file is news. */
function withFileNews({ store, toolRuntime: { backend } }: Session, message: UserMessage): UserMessage {
  const note = backend.known?.takeNews()
  return note === undefined || !store.current() ? message : { ...message, note }
}

// Submits a turn that the session starts by itself: for its goal, its heartbeat or its loop.

type SelfStartedSubmission = {
  readonly kind: 'self-started'
  readonly authority: Authority
  readonly runId: string
  /** Called in the stretch that opens the turn. Undefined when the turn is not wanted any more. */
  readonly compose: () => Composed | undefined
}

/** It never joins a turn: a message of a person goes first. */
const selfStartedIntake = (session: Session, { runId, compose }: SelfStartedSubmission): Intake => ({
  runId,
  open: async () => {
    await session.ensureTenant()
    return session.exists && 'exists'
  },
  findOutcome: () => undefined,
  compose: () => (isIdle(session) ? compose() : undefined),
  join: () => ({ runId, status: 'busy' }),
})

type RetrySubmission = {
  readonly kind: 'retry'
  readonly authority: Authority
  readonly runId: string
  readonly tenant: TenantSnapshot
}

/** Submits the last turn once more: its messages are undone, and its user message starts a new run. */
function retryIntake(session: Session, { authority, runId, tenant }: RetrySubmission): Intake {
  return {
    runId,
    open: async () => {
      if (!session.exists && !(await session.load())) return false
      await session.tenant.update(tenant)
      return 'exists'
    },
    // A repeated request finds the run that the first one started.
    findOutcome: () => (runOf(session, runId) ? { runId, status: 'ended' } : undefined),
    compose: () => {
      const [last] = undoTurns(session, 1, keepVersion).turns
      return last && { message: last.message, options: repeatOptions(session, last.options, authority) }
    },
    join: () => ({ runId, status: 'busy' }),
  }
}
