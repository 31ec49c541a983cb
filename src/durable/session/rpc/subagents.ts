/** RPC subject `subagents`: what a parent and its subagents call at each other, and the tree for the API. */

import type { Marks } from '#agent/core/marks.ts'
import { RpcTarget } from 'cloudflare:workers'
import { type Authority, marksOfAuthority } from '#agent/core/permission/authority.ts'
import type { SteerOutcome, SubagentProgress, SubagentReport } from '#agent/core/subagent.ts'
import type { SessionHost } from '../session-host.ts'
import { type FileChanges, findChanges, packFiles, receiveFiles } from '../subagents/files.ts'
import type { AskedQuestion, ChildStart, ChildStatus, SubagentStart } from '../subagents/parent-session.ts'
import { isSubagent } from '../subagents/child-rows.ts'
import type { SubagentNode } from './subagent-tree.ts'
import { sessionStub } from '#durable/platform/addresses.ts'
import { modelCallUse, timesUsed, type Turn } from '#agent/core/turn.ts'
import { type UserMessage, userText } from '#agent/core/message.ts'
import type { Submitted } from '../intake/intake.ts'
import type { RequestSubmission } from '../intake/request.ts'
import { turnOf } from '../views/segments.ts'
import { runOf } from '../views/read-session.ts'
import { sessionUsage } from '#durable/storage/session-record.ts'
import type { SubagentLink } from '#durable/storage/session-metadata.ts'
import { tokensUsed } from '#agent/core/usage.ts'
import type { Session } from '../session.ts'
import { submit } from '../submit.ts'
import { renderReport } from '../subagents/ended-report.ts'

export class SubagentsSubject extends RpcTarget {
  readonly #host: SessionHost

  constructor(host: SessionHost) {
    super()
    this.#host = host
  }

  // --- called by the parent

  /** Starts this session as a subagent. Repeating it changes nothing. */
  start(authority: Authority, start: ChildStart): Promise<SubagentStart> {
    return this.#host.asCaller(authority, async (): Promise<SubagentStart> => {
      const { session, env } = this.#host
      return this.#host.isOwn(authority)
        ? startSubagent(session, start, env)
        : { kind: 'refused', reason: 'it belongs to another tenant.' }
    })
  }

  /** Receives a question of another session. Repeating it changes nothing. */
  async ask(authority: Authority, question: AskedQuestion): Promise<SubagentStart> {
    const { receiveQuestion } = await import('../subagents/questions.ts')
    const started = await this.#host.with(authority, (session) =>
      receiveQuestion(session, authority, question, this.#host.env.BLOBS),
    )
    return started ?? { kind: 'refused', reason: 'there is no such session for you.' }
  }

  /** The activity of the run, or how it ended. Resumes it when it has no driver. */
  async status(authority: Authority, runId: string): Promise<ChildStatus> {
    const status = await this.#host.with(authority, (session) => {
      session.turns.resumeIfUndriven()
      return statusOfSubagent(session, runId)
    })
    return status ?? { kind: 'missing' }
  }

  async steer(authority: Authority, steer: SubagentSteer): Promise<SteerOutcome> {
    return (await this.#host.with(authority, (session) => steerSubagent(session, authority, steer))) ?? 'missed'
  }

  /** The files that differ from those of the parent when the subagent started. */
  async changes(authority: Authority): Promise<FileChanges> {
    const changes = await this.#host.with(authority, (session) => findChanges(session))
    return changes ?? { list: [] }
  }

  // --- called by a subagent

  /** The files of the workspace as a tar archive. */
  files(authority: Authority): Promise<ReadableStream<Uint8Array> | undefined> {
    return this.#host.with(authority, (session) => packFiles(session))
  }

  /** False when this session has no such subagent. */
  async report(authority: Authority, id: string, report: SubagentReport, runId: string): Promise<boolean> {
    return (await this.#host.with(authority, ({ subagents }) => subagents.receiveReport(id, report, runId))) ?? false
  }

  // --- for the API

  /** Undefined when there is no such session. */
  tree(authority: Authority, depth = 1): Promise<readonly SubagentNode[] | undefined> {
    return this.#host.with(authority, async ({ subagents, tenantId }) => {
      const { readTree } = await import('./subagent-tree.ts')
      return readTree(subagents.rows.all().filter(isSubagent), depth, async (id, below) => {
        const stub = sessionStub(this.#host.env, tenantId, id)
        return (await stub.subagents.tree(authority, below)) ?? []
      })
    })
  }
}

// The session of a subagent as its parent sees it: it starts, reports what it does and how it ended, and is steered.

/** Creates the session, copies the files of the parent into it and starts its run. Each step can be repeated. */
async function startSubagent(
  session: Session,
  child: ChildStart,
  env: Pick<Env, 'SESSION' | 'BLOBS'>,
): Promise<SubagentStart> {
  await session.tenant.update(child.tenant)
  if (!session.exists && !(await session.load())) {
    if (session.turns.isClosing || child.isResumed) return { kind: 'refused', reason: 'its session was deleted.' }
    session.create(child.spec, child.authority)
    session.updateMeta({})
  }
  const { subagent: link } = session.meta
  if (!link) return { kind: 'refused', reason: 'there is another session with its id.' }
  if (link.runId !== child.runId) {
    if (session.store.hasOpenTurn) return { kind: 'over-limit', limit: 'run', retryAfterMs: openRunRetryMs }
    resumeSubagent(session, child, link)
  }
  if (child.copiesFiles) await copyFiles(session, env)
  return getOutcome(await submit(session, createCommand(child), env.BLOBS))
}

/** An earlier run may still be stopping. */
const openRunRetryMs = 2_000

/** The limits are for the new run: what the session has used before was counted then. */
function resumeSubagent(session: Session, { runId, spec }: ChildStart, link: SubagentLink): void {
  const { hasFiles: _files, missed: _missed, ...kept } = link
  const { usd_per_session: usd, tokens_per_session: tokens } = spec.settings?.limits ?? {}
  const used = sessionUsage(session.meta, session.store)
  const limits = {
    ...(usd !== undefined && { usd_per_session: usd + used.costUsd }),
    ...(tokens !== undefined && { tokens_per_session: tokens + tokensUsed(used) }),
  }
  session.updateMeta({
    subagent: { ...kept, runId },
    settings: { ...spec.settings, limits },
    ...(spec.model !== undefined && { model: spec.model }),
  })
}

/** An interrupted copy begins again. */
async function copyFiles(session: Session, env: Pick<Env, 'SESSION'>): Promise<void> {
  const { subagent: link, parentId } = session.meta
  if (!link || link.hasFiles || parentId === null || session.store.current()) return
  const parent = sessionStub(env, session.tenantId, parentId)
  const archive = await parent.subagents.files(session.ownAuthority)
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

/** A goal counts as typed when its model had read nothing. Else the person has typed only their own words. */
const openingOf = (text: string, typed: string, marks: Marks): UserMessage => ({
  ...userText(text, 'subagent', marks),
  ...(marks.isForeign || marks.isPrivate ? { typed } : { startsTyped: true }),
})

const createCommand = ({ authority, runId, tenant, message, typed, options, spec }: ChildStart): RequestSubmission => ({
  kind: 'request',
  authority,
  runId,
  tenant,
  message: openingOf(message, typed, marksOfAuthority(authority)),
  options,
  busyMode: 'queue',
  // Every attempt to start has the same run id.
  idempotency: 'repeat',
  target: { kind: 'create', spec, history: [], isNewId: false },
})

function statusOfSubagent(session: Session, runId: string): ChildStatus {
  const turn = turnOf(session, runId)
  if (!turn && runOf(session, runId)?.status === 'queued') return queuedStatus(session)
  if (!turn) return { kind: 'missing' }
  const report = renderReport(session, turn)
  return report ? { kind: 'ended', report } : { kind: 'running', progress: estimateProgress(session, turn) }
}

/** A question waits for the run that its session works on. */
const queuedStatus = ({ store }: Session): ChildStatus => ({
  kind: 'running',
  progress: { marker: store.lastEventSeq(), activity: 'queued', isInTool: false, isWaiting: true, apiCalls: 0 },
})

/** `marks`: of the parent that writes the message. */
type SubagentSteer = { readonly runId: string; readonly key: string; readonly message: string; readonly marks: Marks }

async function steerSubagent(
  session: Session,
  authority: Authority,
  { runId, key, message, marks }: SubagentSteer,
): Promise<SteerOutcome> {
  await session.ensureTenant()
  const tenant = session.tenant.snapshot
  if (!tenant || !session.store.hasOpenTurn || session.store.turn().id !== runId) return 'missed'
  const outcome = await submit(session, {
    kind: 'request',
    authority,
    runId: key,
    tenant,
    message: userText(message, 'subagent', marks),
    options: {},
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
