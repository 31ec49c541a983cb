/** Submits a message that came with a request to the API. */

import { combineAuthorities } from '#agent/core/permission/contribution.ts'
import { foreignMarks } from '#agent/core/marks.ts'
import { markRepeated } from '#agent/untrusted/result-marks.ts'
import type { Authority } from '#agent/core/permission/authority.ts'
import type { Message, OpeningMessage } from '#agent/core/message.ts'
import type { RequestedOptions } from '#agent/core/turn-options.ts'
import type { NewSession } from '#durable/storage/session-metadata.ts'
import type { TenantSnapshot } from '#durable/tenant/tenant-snapshot.ts'
import {
  attachmentPrefix,
  canStore,
  discardImages,
  storeImages,
  storeMessageImages,
} from '#durable/workspace/attachments.ts'
import { hasUnread, readFiles, withFileReader } from './incoming-files.ts'
import { joinOpenTurn } from './join-turn.ts'
import { isLastRun, findJoinedRun, runOf } from '../views/read-session.ts'
import type { Session } from '../session.ts'
import type { BusyMode, Intake, Submitted } from './intake.ts'
import { prepareSlashDecisions, type SlashDecisions } from './slash-decision.ts'

export type RequestSubmission = {
  readonly kind: 'request'
  readonly authority: Authority
  /** The id of the run that the request starts. A repeat of the request has the same one. */
  readonly runId: string
  readonly tenant: TenantSnapshot
  readonly message: OpeningMessage
  readonly options: RequestedOptions
  /** Applies while a turn is open. Undefined: the setting `busy_input_mode` decides. */
  readonly busyMode: BusyMode | undefined
  /** The sender reads the run by its parts, and answers what it waits for. Its mode counts only while the turn runs. */
  readonly readsParts?: boolean
  /** `first`, `repeat`: it has an idempotency key, and an earlier try did not or did claim it. */
  readonly idempotency: 'none' | 'first' | 'repeat'
  readonly target: RequestTarget
  /** The name of a client whose run stops when it goes away. Absent: the run goes on. */
  readonly client?: string
}

export type RequestTarget =
  | { readonly kind: 'existing' }
  /** Only while no other run follows this one. */
  | { readonly kind: 'after'; readonly runId: string }
  /** A session that is created when it does not exist. `isNewId`: the id is new, so history is not read. */
  | {
      readonly kind: 'create'
      readonly spec: NewSession
      readonly history: readonly Message[]
      readonly isNewId: boolean
    }

export function requestIntake(session: Session, submission: RequestSubmission, blobs: R2Bucket | undefined): Intake {
  const { runId, busyMode, target, tenant, message } = submission
  const options = ownedOptions(submission)
  const given = new GivenMessages(session, submission, blobs)
  // An earlier try may have joined a run at any time; a concurrent one only since this one began.
  let eventsSince = 0
  let typed: SlashDecisions | undefined
  const open = async () => {
    await session.tenant.update(tenant)
    if (session.exists) return 'exists' as const
    if (session.turns.isClosing) return false
    const isNew = target.kind === 'create'
    if (!(isNew && target.isNewId) && (await session.load())) return 'exists' as const
    return isNew && !session.turns.isClosing && ('new' as const)
  }
  return {
    runId,
    model: options.model,
    validate: () =>
      [...historyOf(submission), message].every((one) => canStore(one, blobs)) ? undefined : tooLarge(runId),
    open,
    findOutcome: (isRecheck) => {
      const outcome = findOutcome(session, submission, { isRecheck, eventsSince })
      if (!isRecheck) eventsSince = session.store.lastEventSeq()
      return outcome
    },
    prepare: async () => {
      if (session.exists && session.store.hasOpenTurn)
        typed = await prepareSlashDecisions(session, submission.authority, message)
      await given.store()
    },
    discard: () => given.discard(),
    create: () => given.create(),
    placeFiles: () => given.placeFiles(),
    compose: () => ({ message: given.message, options }),
    join: () => {
      const { decisions = [] } = typed ?? {}
      const answers = { decisions, isCaller: submission.readsParts ?? false }
      return given.message.role === 'user'
        ? joinOpenTurn(session, { runId, mode: busyMode, options, answers }, typed ? undefined : given.message)
        : { runId, status: 'busy' }
    },
  }
}

const historyOf = ({ target }: RequestSubmission): readonly Message[] =>
  target.kind === 'create' ? target.history : []

/** Stores the images and files of a request: its message, and the history that a new session gets. */
class GivenMessages {
  readonly #session: Session
  readonly #submission: RequestSubmission
  readonly #blobs: R2Bucket | undefined
  readonly #hasFiles: boolean
  #areFilesPlaced: boolean
  #history: readonly Message[] = []
  message: OpeningMessage

  constructor(session: Session, submission: RequestSubmission, blobs: R2Bucket | undefined) {
    this.#session = session
    this.#submission = submission
    this.#blobs = blobs
    this.message = submission.message
    this.#hasFiles = [...historyOf(submission), submission.message].some(hasUnread)
    this.#areFilesPlaced = !this.#hasFiles
  }

  /** The files of a new session are written when it exists. */
  async store(): Promise<void> {
    const { message } = this.#submission
    const prefix = attachmentPrefix(this.#session.tenantId, this.#session.sessionId)
    this.message = markShown(markRepeated(await storeImages(message, this.#blobs, prefix)), this.#submission.authority)
    if (this.#session.exists) return this.placeFiles()
    const history = historyOf(this.#submission)
    this.#history = await Promise.all(history.map((one) => storeMessageImages(one, this.#blobs, prefix)))
  }

  create(): void {
    const { target, authority } = this.#submission
    if (target.kind === 'create') this.#session.create(target.spec, authority, this.#hasFiles ? [] : this.#history)
  }

  /** Undefined when there are none, or they are written already. */
  placeFiles(): Promise<void> | undefined {
    if (this.#areFilesPlaced) return undefined
    this.#areFilesPlaced = true
    return this.#placeFiles()
  }

  async #placeFiles(): Promise<void> {
    const { runId } = this.#submission
    const read = await readFiles<Message>(this.#session, runId, [...this.#history, this.message], this.#blobs)
    this.message = read.at(-1) as OpeningMessage
    this.#session.addHistory(read.slice(0, -1))
  }

  async discard(): Promise<void> {
    const { message } = this.#submission
    if (this.message !== message) await discardImages(this.message, message, this.#blobs)
  }
}

/** With the message came what others have written: its first part is what its sender has typed. */
const markShown = (message: OpeningMessage, { exposure }: Authority): OpeningMessage =>
  exposure?.isForeign && message.role === 'user' && !message.marks
    ? { ...message, marks: foreignMarks, startsTyped: true }
    : message

const ownedOptions = (submission: RequestSubmission) => ({
  ...withFileReader(submission.options, [submission.message, ...historyOf(submission)]),
  authority: combineAuthorities([submission.authority]),
})

const tooLarge = (runId: string): Submitted => ({ runId, status: 'too-large' })

type RepeatCheck = { readonly isRecheck: boolean; readonly eventsSince: number }

function findOutcome(session: Session, submission: RequestSubmission, { isRecheck, eventsSince }: RepeatCheck) {
  const { runId, idempotency, target } = submission
  const mayHaveJoined = idempotency === 'repeat' || isRecheck
  const earlier =
    idempotency === 'none'
      ? undefined
      : (getOutcome(session, runId) ?? (mayHaveJoined ? findJoinedRun(session, runId, eventsSince) : undefined))
  if (earlier) return earlier
  const isSuperseded = target.kind === 'after' && isRecheck && !isLastRun(session, target.runId)
  return isSuperseded ? { runId, status: 'superseded' as const } : undefined
}

/** The run of an earlier try. */
function getOutcome(session: Session, runId: string): Submitted | undefined {
  const run = runOf(session, runId)
  if (!run) return undefined
  if (run.status === 'queued') return { runId, status: 'queued' }
  return { runId, status: run.exit_reason === null ? 'running' : 'ended' }
}
