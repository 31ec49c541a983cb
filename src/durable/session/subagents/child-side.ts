/** The session of a subagent as its parent sees it: it starts, reports what it does and how it ended, and is steered. */

import type { Authority } from '#agent/core/permission/authority.ts'
import type { SteerOutcome, SubagentProgress } from '#agent/core/subagent.ts'
import { modelCallUse, timesUsed, type Turn } from '#agent/core/turn.ts'
import { userText } from '#agent/core/message.ts'
import type { Submitted } from '../intake/intake.ts'
import type { RequestSubmission } from '../intake/request.ts'
import { turnOf } from '../views/segments.ts'
import type { Session } from '../session.ts'
import { submit } from '../submit.ts'
import { renderReport } from './ended-report.ts'
import { receiveFiles } from './files.ts'
import type { ChildStart, ChildStatus, SubagentStart } from './parent-session.ts'
import { sessionStub } from '#durable/platform/addresses.ts'

/** Creates the session, copies the files of the parent into it and starts its run. Each step can be repeated. */
export async function startSubagent(
  session: Session,
  child: ChildStart,
  env: Pick<Env, 'SESSION' | 'BLOBS'>,
): Promise<SubagentStart> {
  await session.tenant.update(child.tenant)
  if (!session.exists && !(await session.load())) {
    if (session.turns.isClosing) return { kind: 'refused', reason: 'its session was deleted.' }
    session.create(child.spec)
    session.updateMeta({})
  }
  if (!session.meta.subagent) return { kind: 'refused', reason: 'there is another session with its id.' }
  if (child.copiesFiles) await copyFiles(session, child, env)
  return getOutcome(await submit(session, createCommand(child), env.BLOBS))
}

/** An interrupted copy begins again. */
async function copyFiles(session: Session, { authority }: ChildStart, env: Pick<Env, 'SESSION'>): Promise<void> {
  const { subagent: link, parentId } = session.meta
  if (!link || link.hasFiles || parentId === null || session.store.current()) return
  const parent = sessionStub(env, session.tenantId, parentId)
  const archive = await parent.subagents.files(authority)
  if (archive) await receiveFiles(session, archive)
  session.updateMeta({ subagent: { ...link, hasFiles: true } })
}

function getOutcome(submitted: Submitted | undefined): SubagentStart {
  switch (submitted?.status) {
    case 'running':
    case 'ended':
    case 'joined':
    case 'queued':
      return { kind: 'started' }
    case 'over-limit':
      return { kind: 'over-limit', limit: submitted.limit, retryAfterMs: submitted.retryAfter * 1_000 }
    case 'too-large':
      return { kind: 'refused', reason: 'the goal and the context are too long.' }
    default:
      return { kind: 'refused', reason: `its session does not accept the goal (${submitted?.status ?? 'deleted'}).` }
  }
}

const createCommand = ({ authority, runId, tenant, message, options, spec }: ChildStart): RequestSubmission => ({
  kind: 'request',
  authority,
  runId,
  tenant,
  message: userText(message, 'subagent'),
  options,
  busyMode: 'queue',
  // Every attempt to start has the same run id.
  idempotency: 'repeat',
  target: { kind: 'create', spec, history: [], isNewId: false },
})

export function statusOfSubagent(session: Session, runId: string): ChildStatus {
  const turn = turnOf(session, runId)
  if (!turn) return { kind: 'missing' }
  const report = renderReport(session, turn)
  return report ? { kind: 'ended', report } : { kind: 'running', progress: estimateProgress(session, turn) }
}

export async function steerSubagent(
  session: Session,
  authority: Authority,
  { runId, key, message }: { readonly runId: string; readonly key: string; readonly message: string },
): Promise<SteerOutcome> {
  await session.ensureTenant()
  const tenant = session.tenant.snapshot
  if (!tenant || !session.store.hasOpenTurn || session.store.turn().id !== runId) return 'missed'
  const outcome = await submit(session, {
    kind: 'request',
    authority,
    runId: key,
    tenant,
    message: userText(message, 'subagent'),
    options: { authority },
    busyMode: 'steer',
    idempotency: 'repeat',
    target: { kind: 'existing' },
  })
  return outcome?.status === 'joined' ? 'sent' : 'missed'
}

function estimateProgress({ store }: Session, turn: Turn): SubagentProgress {
  const { stage } = turn
  const calls = stage.at === 'tools' ? stage.calls : []
  const running = calls.filter(({ state }) => state === 'running').map(({ name }) => name)
  const isWaiting =
    stage.at === 'waiting' || calls.some((call) => call.state === 'away' && call.awaits.kind === 'child')
  const waiting = stage.at === 'waiting' ? `waiting: ${stage.why}` : 'waiting for subagents'
  const activity = running.length ? `running ${running.join(', ')}` : isWaiting ? waiting : 'thinking'
  return {
    marker: store.lastEventSeq(),
    activity,
    isInTool: running.length > 0,
    isWaiting,
    apiCalls: timesUsed(turn, modelCallUse),
  }
}
