/** RPC subject `jobs`: what the runs of jobs ask of sessions. The first call creates the session of a run. */

import { RpcTarget } from 'cloudflare:workers'
import { type Authority, marksOfAuthority } from '#agent/core/permission/authority.ts'
import type {
  ChatNotice,
  JobOutcome,
  JobPrompt,
  JobScript,
  JobSession,
  NoticeState,
  ScriptOutcome,
  SessionJobs,
  StartOutcome,
} from '#durable/tenant/jobs/session-port.ts'
import type { Session } from '../session.ts'
import type { SessionHost } from '../session-host.ts'
import type { ExecutionBackend } from '#agent/core/backend.ts'
import { narrowByRoles } from '#agent/core/permission/roles.ts'
import type { OrderedAction } from '#tools/judge-action.ts'
import { failpoint } from '#durable/platform/failpoint.ts'
import { redactorFor } from '#durable/platform/redaction.ts'
import type { Marks } from '#agent/core/marks.ts'
import { type UserMessage, userText } from '#agent/core/message.ts'
import type { createRunEnded } from '#agent/loop/announce.ts'
import { fetchTenantSnapshot } from '#durable/tenant/tenant-snapshot.ts'
import { sessionMarks } from '#durable/turn/turn-marks.ts'
import { sessionUsage } from '#durable/storage/session-record.ts'
import { endOf, runOf } from '../views/read-session.ts'
import { submit } from '../submit.ts'

export class JobsSubject extends RpcTarget implements SessionJobs {
  readonly #host: SessionHost

  constructor(host: SessionHost) {
    super()
    this.#host = host
  }

  /** Undefined when the session belongs to something else. */
  runScript(authority: Authority, session: JobSession, script: JobScript): Promise<ScriptOutcome | undefined> {
    return this.#open(authority, session, (opened) => runScript(opened, this.#host.env, { script, authority }))
  }

  /** Returns why the run may not do this outside of its session, or null. Undefined when the session belongs to something else. */
  judge(authority: Authority, session: JobSession, action: OrderedAction): Promise<string | null | undefined> {
    return this.#open(authority, session, async (opened) => (await findRefusal(opened, authority, action)) ?? null)
  }

  /** Starts the turn of the run. A repeated call with the same run changes nothing. */
  start(authority: Authority, session: JobSession, prompt: JobPrompt): Promise<StartOutcome | undefined> {
    return this.#open(authority, session, (opened) => startJob(opened, this.#host.env, authority, prompt))
  }

  async outcome(authority: Authority, runId: string): Promise<JobOutcome> {
    return (await this.#host.with(authority, (session) => readOutcome(session, runId))) ?? { kind: 'unknown' }
  }

  /** Deletes the session of a run that started no turn. */
  async discard(authority: Authority, jobRun: string): Promise<void> {
    await this.#host.asCaller(authority, async () => {
      const { session } = this.#host
      if (!this.#host.isOwn(authority) || !session.exists || session.meta.jobRun !== jobRun) return
      if (!session.store.current()) await this.#host.delete()
    })
  }

  /** Sends a text to the chat of this session, once per key. Undefined when the session cannot be used. */
  notify(authority: Authority, notice: ChatNotice): Promise<NoticeState | undefined> {
    return this.#host.asCaller(authority, async () => {
      if (!this.#host.isOwn(authority)) return undefined
      await this.#host.find()
      return notifyChat(this.#host.session, authority, notice)
    })
  }

  #open<T>(authority: Authority, spec: JobSession, work: (session: Session) => Promise<T>): Promise<T | undefined> {
    return this.#host.asCaller(authority, async () => {
      const session = this.#host.isOwn(authority) ? await openJobSession(this.#host, authority, spec) : undefined
      return session && work(session)
    })
  }
}

/** Undefined when the session is not that of this chat. A chat that has no session yet gets one. */
async function notifyChat(
  session: Session,
  by: Authority,
  { key, chat, text, format, files = [] }: ChatNotice,
): Promise<NoticeState | undefined> {
  if (session.turns.isClosing) return undefined
  await session.ensureTenant()
  if (!session.exists) {
    session.create({ source: chat.platform, origin: chat }, by)
    session.updateMeta({})
  }
  const { origin } = session.meta
  if (origin?.connection !== chat.connection) return undefined
  const { chatOutbox } = session
  const isNew = () => !chatOutbox.outbox.listByRun(key).length
  const paths =
    files.length && isNew()
      ? await (await import('../core/store-sent-files.ts')).storeSentFiles(session, by, { key, files })
      : []
  // The same message may have arrived meanwhile.
  if (isNew()) {
    chatOutbox.sendNotice(text, key, { format })
    for (const path of paths) chatOutbox.sendFile(path, key)
  }
  return getState(chatOutbox.outbox.listByRun(key).map(({ deliveryState }) => deliveryState))
}

type PartState = ReturnType<Session['chatOutbox']['outbox']['listByRun']>[number]['deliveryState']

function getState(parts: readonly PartState[]): NoticeState {
  if (parts.some(({ state }) => state === 'prepared' || state === 'sending')) return { kind: 'sending' }
  const failed = parts.find(({ state }) => state !== 'sent')
  return failed ? { kind: 'failed', error: failed.error ?? failed.state } : { kind: 'sent' }
}

/** Scripts that run in this instance, by session and key. A repeated call waits for the same end. */
const running = new WeakMap<Session, Map<string, Promise<ScriptOutcome>>>()

const maxOutputBytes = 200_000

type GivenScript = { readonly script: JobScript; readonly authority: Authority }

/** Runs a script of a job in the workspace of its session, at most once for each key. */
function runScript(session: Session, env: Env, { script, authority }: GivenScript): Promise<ScriptOutcome> {
  const scripts = running.get(session) ?? new Map<string, Promise<ScriptOutcome>>()
  running.set(session, scripts)
  const current = scripts.get(script.key)
  if (current) return current
  const rows = new ScriptRows(session.sql)
  const stored = rows.get(script.key)
  if (stored?.kind === 'known') return Promise.resolve(stored.outcome)
  // The instance that began it has ended.
  if (stored) return Promise.resolve({ kind: 'lost' })
  const work = perform(session, env, { script, authority, rows }).finally(() => scripts.delete(script.key))
  scripts.set(script.key, work)
  return work
}

type ScriptWork = GivenScript & { readonly rows: ScriptRows }

async function perform(session: Session, env: Env, { script, authority, rows }: ScriptWork): Promise<ScriptOutcome> {
  const { backend } = session.toolRuntime
  const { command, isApproved } = script
  const refusal = await findRefusal(session, authority, { tool: 'terminal', input: { command }, isOrdered: isApproved })
  if (refusal !== undefined) return { kind: 'refused', reason: refusal }
  const { redact } = redactorFor(env, session.tenantId)
  rows.begin(script.key)
  await failpoint('job-script')
  const cwd = session.meta.shell?.cwd ?? backend.resolve('.')
  const outcome = await execute(backend, script, cwd)
  const shown: ScriptOutcome =
    outcome.kind === 'ended' ? { ...outcome, stdout: redact(outcome.stdout), stderr: redact(outcome.stderr) } : outcome
  rows.end(script.key, shown)
  return shown
}

async function execute(
  backend: ExecutionBackend,
  { command, timeoutMs }: JobScript,
  cwd: string,
): Promise<ScriptOutcome> {
  try {
    const { exitCode, stdout, stderr, timedOut } = await backend.exec(command, {
      cwd,
      timeoutMs,
      maxOutput: maxOutputBytes,
    })
    return { kind: 'ended', exitCode, stdout, stderr, hasTimedOut: timedOut }
  } catch (error) {
    return {
      kind: 'refused',
      reason: `The script could not run: ${error instanceof Error ? error.message : String(error)}`,
    }
  }
}

/** Nobody can be asked while a job runs. */
async function findRefusal(session: Session, by: Authority, action: OrderedAction): Promise<string | undefined> {
  const { backend } = session.toolRuntime
  // The backend is opened first, because it says how paths are read.
  await backend.files.stat('.')
  const authority = narrowByRoles(by, session.tenant.access.roles)
  const { settings, meta, toolRuntime } = session
  const { judgeAction } = await import('#tools/judge-action.ts')
  const refusal = await judgeAction(action, { settings, origin: meta, authority, services: toolRuntime.place })
  if (refusal === undefined) return undefined
  return refusal.status === 'pending'
    ? `${refusal.error} A key with the scope "approve" has to save it.`
    : refusal.error
}

type StoredScript = { readonly kind: 'begun' } | { readonly kind: 'known'; readonly outcome: ScriptOutcome }

const schema = 'CREATE TABLE IF NOT EXISTS job_script (key TEXT PRIMARY KEY, outcome TEXT) WITHOUT ROWID'

/** Records the scripts of a job's run, so that none of them runs twice. */
class ScriptRows {
  readonly #sql: SqlStorage

  constructor(sql: SqlStorage) {
    this.#sql = sql
    sql.exec(schema)
  }

  get(key: string): StoredScript | undefined {
    const query = 'SELECT outcome FROM job_script WHERE key = ?'
    const [row] = this.#sql.exec<{ outcome: string | null }>(query, key).toArray()
    if (!row) return undefined
    return row.outcome === null
      ? { kind: 'begun' }
      : { kind: 'known', outcome: JSON.parse(row.outcome) as ScriptOutcome }
  }

  begin(key: string): void {
    this.#sql.exec('INSERT INTO job_script VALUES (?, NULL)', key)
  }

  end(key: string, outcome: ScriptOutcome): void {
    this.#sql.exec('UPDATE job_script SET outcome = ? WHERE key = ?', JSON.stringify(outcome), key)
  }
}

const jobSource = 'cron'

/** Undefined when the session belongs to something else. */
async function openJobSession(
  host: SessionHost,
  by: Authority,
  { jobRun, ...spec }: JobSession,
): Promise<Session | undefined> {
  const known = await host.find()
  if (known) {
    await known.ensureTenant()
    return known.meta.jobRun === jobRun ? known : undefined
  }
  const { session } = host
  await session.ensureTenant()
  if (session.exists || session.turns.isClosing)
    return session.exists && session.meta.jobRun === jobRun ? session : undefined
  const created = {
    source: spec.source ?? jobSource,
    title: spec.title,
    jobRun,
    // It expires by itself if nothing is started in it.
    oneShot: true,
    ...(spec.model !== undefined && { model: spec.model }),
    ...(spec.project !== undefined && { projectId: spec.project }),
    ...(spec.maxUsd !== undefined && { settings: { limits: { usd_per_session: spec.maxUsd } } }),
  }
  session.create(created, by)
  session.updateMeta({})
  if (spec.workdir !== undefined) await loadDirectory(session, spec.workdir)
  session.turns.arm()
  return session
}

/** A prompt that a model has written with private data in sight is not the text of the person. */
const openingOf = ({ text, typed = '' }: JobPrompt, marks: Marks, source: string): UserMessage =>
  source === 'batch'
    ? // The person who started the batch has written it.
      userText(text)
    : { ...userText(text, 'job', marks), ...((marks.isPrivate || marks.isForeign) && { typed }) }

async function startJob(session: Session, env: Env, authority: Authority, prompt: JobPrompt): Promise<StartOutcome> {
  const { runId, instructions, maxTurns, maxTokens } = prompt
  if (session.meta.oneShot) session.updateMeta({ oneShot: undefined })
  const outcome = await submit(
    session,
    {
      kind: 'request',
      authority,
      runId,
      tenant: await fetchTenantSnapshot(env, session.tenantId),
      message: openingOf(prompt, marksOfAuthority(authority), session.meta.source),
      options: {
        ...(instructions !== undefined && { instructions }),
        ...(maxTurns !== undefined && { maxTurns }),
        ...(maxTokens !== undefined && { maxTokens }),
      },
      busyMode: 'queue',
      idempotency: 'repeat',
      target: { kind: 'existing' },
    },
    env.BLOBS,
  )
  switch (outcome?.status) {
    case 'running':
    case 'queued':
    case 'joined':
    case 'ended':
      return { kind: 'started' }
    case 'over-limit':
      return { kind: 'over-limit', limit: outcome.limit, retryAfterMs: outcome.retryAfter * 1_000 }
    case 'too-large':
      return { kind: 'refused', reason: 'The prompt with its material is too large.' }
    default:
      return { kind: 'refused', reason: 'The session did not accept the prompt.' }
  }
}

function readOutcome(session: Session, runId: string): JobOutcome {
  const run = runOf(session, runId)
  if (!run) return { kind: 'unknown' }
  const end = endOf(session, runId)
  if (!end) {
    session.turns.resumeIfUndriven()
    return { kind: 'running' }
  }
  const { output, completed: isCompleted, error, exit_reason: reason } = end satisfies ReturnType<typeof createRunEnded>
  const marks = sessionMarks(session)
  return {
    kind: 'ended',
    isCompleted,
    output,
    marks,
    isOutOfBudget: reason === 'out_of_budget',
    costUsd: sessionUsage(session.meta, session.store).costUsd,
    ...(!isCompleted && { error: error ?? `The turn ended: ${reason}.` }),
  }
}

/** Makes the working directory of a job's session. */
async function loadDirectory(session: Session, path: string): Promise<void> {
  const { backend } = session.toolRuntime
  // The backend is opened first, because it says how paths are read.
  await backend.files.stat('.')
  const cwd = backend.resolve(path)
  await backend.exec(`mkdir -p -- '${cwd.replaceAll("'", `'\\''`)}'`, { timeoutMs: 30_000 })
  session.updateMeta({ shell: { cwd, env: {} } })
}
