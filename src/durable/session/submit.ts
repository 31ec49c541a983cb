/** The way in: what is said to a session begins a turn, waits for its own, or goes into the one that is open. */

import type { Message, UserMessage } from '../../agent/model/message.ts'
import type { TurnOptions } from '../../agent/model/options.ts'
import type { Format } from '../events/stream-format.ts'
import { attachmentsOf, canKeep, discardImages, storeImages } from '../workspace/attachments.ts'
import { hearWhileBusy } from './submit-while-busy.ts'
import { failpoint } from '../platform/failpoint.ts'
import type { Session } from './session.ts'
import type { NewSession } from '../storage/session-metadata.ts'
import { type Accepted, isLastRun, joinedBefore, runOf } from './read-session.ts'
import type { TenantSnapshot } from '../tenant/tenant-snapshot.ts'

export type Say = {
  readonly runId: string
  readonly message: UserMessage
  readonly mode?: 'queue' | 'interrupt' | 'steer' | undefined
  readonly options: TurnOptions
  readonly tenant: TenantSnapshot
  /** Creates the session when it does not exist. */
  readonly create?: NewSession | undefined
  /** The id of the session was made for this request: it is in no history, and nobody has to look. */
  readonly isFresh?: boolean | undefined
  /** Messages of before, for a session that is created. */
  readonly history?: readonly Message[] | undefined
  /** Only into a turn that is open: nothing is begun. */
  readonly joinOnly?: boolean | undefined
  /** Only while nothing has come behind this run. */
  readonly after?: string | undefined
  /** An earlier try of the same request may have used this run id. */
  readonly repeatable?: boolean | undefined
  /** An earlier try did come here, or at least as far as the key. */
  readonly replayed?: boolean | undefined
}

/** The body of a POST to the session object: submits a message and streams its run. */
export type StreamRequest = { readonly say: Say; readonly format: Format }

/** The body of a POST that streams a run that exists, from its first event. */
export type FollowRequest = { readonly runId: string; readonly format: Format }

/** Undefined when there is no such session. What is accepted is durable before the caller hears of it. */
export async function accept(core: Session, request: Say, blobs: R2Bucket | undefined): Promise<Accepted | undefined> {
  const { runId, options, history = [] } = request
  if (![...history, request.message].every((one) => canKeep(one, blobs))) return { runId, status: 'too-large' }
  if (!(await isReady(core, request, blobs))) return undefined
  const known = acceptedBefore(core, request)
  if (known) return known
  const message = await storeImages(request.message, blobs, attachmentsOf(core.tenantId, core.sessionId))
  const late = message === request.message ? undefined : meanwhile(core, request)
  if (late) {
    await discardImages(message, request.message, blobs)
    return late.accepted
  }
  if (request.after !== undefined && !isLastRun(core, request.after)) {
    await discardImages(message, request.message, blobs)
    return { runId, status: 'passed' }
  }
  if (!core.store.hasOpenTurn) {
    if (request.joinOnly) return { runId, status: 'idle' }
    core.begin({ runId, message, options })
    void failpoint('accepted')
    return { runId, status: 'running' }
  }
  return hearWhileBusy(core, request, message)
}

async function isReady(
  core: Session,
  { tenant, create, isFresh, history }: Say,
  blobs: R2Bucket | undefined,
): Promise<boolean> {
  await core.known.know(tenant)
  if (core.exists) return true
  if (core.isClosing) return false
  if (!isFresh && (await core.load())) return true
  if (!create) return false
  const messages = history && (await Promise.all(history.map((message) => kept(core, message, blobs))))
  if (core.isClosing) return false
  core.create(create, messages)
  return true
}

/** A message that comes from outside, as it is kept. */
export const kept = (
  { tenantId, sessionId }: Session,
  message: Message,
  blobs: R2Bucket | undefined,
): Promise<Message> | Message =>
  message.role === 'user' ? storeImages(message, blobs, attachmentsOf(tenantId, sessionId)) : message

/** What became of the request while its images were stored: the session may be gone, or it came a second time. */
function meanwhile(core: Session, request: Say): { readonly accepted: Accepted | undefined } | undefined {
  if (!core.exists) return { accepted: undefined }
  const accepted = acceptedBefore(core, { ...request, replayed: true })
  return accepted && { accepted }
}

function acceptedBefore(core: Session, { runId, repeatable, replayed }: Say): Accepted | undefined {
  if (!repeatable) return undefined
  const run = runOf(core, runId)
  if (!run) return replayed ? joinedBefore(core, runId) : undefined
  if (run.status === 'queued') return { runId, status: 'queued' }
  return { runId, status: run.exit_reason === null ? 'running' : 'over' }
}
