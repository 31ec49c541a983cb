/**
 * Runs the subagents of a session. Each is a session of its own that drives itself; this one rests meanwhile. A subagent
 * reports its end; the alarm asks those that have been silent, so that a lost report changes nothing.
 */

import { turnAuthority } from '#durable/turn/turn-authority.ts'
import { combineAuthorities } from '#agent/core/permission/contribution.ts'
import { log } from '#agent/core/log.ts'
import { hash53 } from '#agent/core/hash53.ts'
import { textIn, type ToolMessage } from '#agent/core/message.ts'
import { newTurn } from '#agent/core/turn.ts'
import { withMarks } from '#agent/core/permission/authority.ts'
import { sessionMarks } from '#durable/turn/turn-marks.ts'
import type {
  Spawned,
  SessionQuestion,
  SpawnRequest,
  SteerOutcome,
  SubagentLimits,
  SubagentReport,
  Subagents,
  SubagentTask,
  SubagentView,
} from '#agent/core/subagent.ts'
import { chooseTools, type NamedTool, subagentTools } from '#agent/policy/subagent/limits.ts'
import { explainStall, startWatching, watch } from '#agent/policy/subagent/stall.ts'
import { isToolsetOrTool } from '#tools/tool-names.ts'
import { expandToolsets } from '#tools/tools-for.ts'
import { createSources } from '#durable/models/session-routes.ts'
import { clock } from '#durable/platform/clock.ts'
import { failpoint } from '#durable/platform/failpoint.ts'
import { newRunId, newSessionId } from '#durable/platform/ids.ts'
import { isOwnReset } from '#durable/platform/object-reset.ts'
import { turnScope } from '#durable/turn/tools/turn-scope.ts'
import { activityOf, type ChildRow, ChildRows, isRunning, isSubagent, type RunningRow } from './child-rows.ts'
import { delegationOf } from './delegation-id.ts'
import { getPlace, isAwaited, programOf } from './place-of-call.ts'
import { endedReport } from './ended-report.ts'
import { endChild, lostReport } from './end-child.ts'
import type { ChildStart, ChildStatus, DeliverMessage, SubagentStart } from './parent-session.ts'
import { withinLimit } from './reach.ts'
import { childAuthority, chooseGrant, createStart, limitsOf } from './start-child.ts'
import type { Session } from '../session.ts'
import { sessionStub, type SessionStub } from '#durable/platform/addresses.ts'
import { isExhausted, type SubagentGrant } from '#agent/policy/subagent/money.ts'

export type SubagentsOptions = {
  readonly session: Session
  readonly env: Env
  readonly deliver: DeliverMessage
}

/** A silent subagent is asked this often. */
const pollIntervalMs = 30_000
/** After an unreachable one. */
const retryMs = 5_000
const maxUnfinished = 200

/** Explains why the model of a task cannot be called. */
async function findUnusable(session: Session, model: string): Promise<string | undefined> {
  const { explainUnusable } = await import('#durable/models/usable-model.ts')
  return explainUnusable(model, createSources(session, session.outside.env))
}

export class SessionSubagents implements Subagents {
  readonly rows: ChildRows
  readonly #options: SubagentsOptions
  /** The run whose end the parent knows. */
  #reportedRun: string | undefined
  #tending: Promise<void> | undefined
  #isTendingAgain = false
  /** Whether this instance of the object has asked once: reports may have been lost before it. */
  #hasAsked = false
  /** The programs that wait, by delegation; undefined once they have their results. Lost with the object. */
  readonly #programs = new Map<string, ((message: ToolMessage) => void) | undefined>()
  /** Results cannot be delivered before. */
  #deliverAfter = 0

  constructor(options: SubagentsOptions) {
    const { sql, journal } = options.session
    this.#options = options
    this.rows = new ChildRows(sql, journal.hasTable('child'))
  }

  // --- for the tool

  limits = (): SubagentLimits => limitsOf(this.#options.session)

  async spawn({ callId, tasks, isBackground, authority }: SpawnRequest): Promise<Spawned | string> {
    const { session } = this.#options
    const refusal = await this.#findRefusal(tasks)
    const { store } = session
    // A command may delegate before the first turn.
    const parent = store.current() ?? newTurn(callId, 0, 0)
    const delegationId = delegationOf(parent, store.lastMessageSeq(), callId)
    const known = this.rows.ofDelegation(delegationId)
    const { maxConcurrent, maxDepth, depth } = this.limits()
    // A subagent reports once, and an ephemeral session is gone: the results would reach nobody.
    const runsInBackground = isBackground && depth === 0 && !session.meta.ephemeral
    const note = renderNote(isBackground && !runsInBackground, tasks.length > maxConcurrent ? maxConcurrent : undefined)
    const spawned = { delegationId, isBackground: runsInBackground, ...note }
    if (known.length) return spawned
    if (refusal !== undefined) return refusal
    const tools = [...session.toolRuntime.toolbox(session.settings, turnScope(session)).values()]
    const chosen = tasks.map((task) => chooseTools(tools, task, expandToolsets(task.toolsets)))
    const refused = explainToolsets(tasks, chosen, tools)
    if (refused !== undefined) return refused
    const shared = { delegation: delegationId, parentRun: parent.id, ...(!runsInBackground && { callId }), ...note }
    const rows = tasks.map((task, index): ChildRow => {
      const toolNames = subagentTools(chosen[index] ?? [], task.role, { depth: depth + 1, maxDepth })
      return this.#createRow({ ...shared, index, task, authority, tools: toolNames })
    })
    for (const row of rows) if (row.isResumed) this.rows.put(row)
    this.rows.add(rows.filter((row) => !row.isResumed))
    session.turns.arm()
    session.runInBackground(this.tend())
    return spawned
  }

  /** A resumed one keeps its id. Its history holds what those had read for whom it worked before. */
  #createRow(given: Omit<ChildRow, 'id' | 'runId' | 'createdAt' | 'state'>): ChildRow {
    const id = given.task.resumes ?? newSessionId()
    const earlier = this.rows.get(id)
    return {
      ...given,
      id,
      runId: newRunId(id),
      ...(earlier && { isResumed: true, authority: combineAuthorities([earlier.authority, given.authority]) }),
      createdAt: clock.now(),
      state: { at: 'queued' },
    }
  }

  /** Explains why the tasks cannot begin. */
  async #findRefusal(tasks: SpawnRequest['tasks']): Promise<string | undefined> {
    const { maxDepth, depth } = this.limits()
    if (depth >= maxDepth) return `Subagents at depth ${depth} cannot delegate (max_spawn_depth is ${maxDepth}).`
    const { delegation = {} } = this.#options.session.settings
    if (delegation.paused)
      return 'Starting of subagents is paused here (delegation.paused). Do the work yourself, or say that it has to wait.'
    const unresumable = explainResumed(tasks, this.rows)
    if (unresumable !== undefined) return unresumable
    const unfinished = this.#unfinished().length
    if (unfinished + tasks.length > maxUnfinished)
      return `${unfinished} subagents have not ended, and ${maxUnfinished} are the most. Wait for some, or stop them.`
    const model = tasks.find((task) => task.model !== undefined)?.model
    return model === undefined ? undefined : findUnusable(this.#options.session, model)
  }

  list(): readonly SubagentView[] {
    const now = clock.now()
    return this.rows
      .all()
      .filter(isSubagent)
      .map((row) => viewOf(row, now))
  }

  async steer(id: string, message: string, callId: string): Promise<SteerOutcome | undefined> {
    const row = this.rows.get(id)
    if (!row || !isSubagent(row)) return undefined
    if (row.state.at === 'ended') return 'missed'
    const { session } = this.#options
    // Others may have joined the turn since it delegated.
    const authority = withMarks(combineAuthorities([row.authority, turnAuthority(session)]), sessionMarks(session))
    if (row.state.at === 'queued') {
      const context = [row.task.context, message].filter(Boolean).join('\n\n')
      this.rows.put({ ...row, authority, task: { ...row.task, context } })
      return 'sent'
    }
    const key = newRunId(id, hash53(`${session.store.turn().id} ${callId}`).toString(16).padStart(16, '0'))
    return this.#stubOf(id).subagents.steer(childAuthority(session, { ...row, authority }), {
      runId: row.runId,
      key,
      message,
      marks: sessionMarks(session),
    })
  }

  stop(id?: string): number | undefined {
    if (id !== undefined && !this.rows.get(id)) return undefined
    const stopped = this.#unfinished().filter((row) => id === undefined || row.id === id)
    for (const row of stopped) this.rows.put({ ...row, stop: row.stop ?? 'It was stopped.' })
    if (stopped.length) this.#options.session.runInBackground(this.tend())
    return stopped.length
  }

  wait(delegationId: string, signal: AbortSignal): Promise<ToolMessage | undefined> {
    const { promise, resolve } = Promise.withResolvers<ToolMessage | undefined>()
    const end = (message?: ToolMessage): void => {
      this.#programs.set(delegationId, undefined)
      resolve(message)
    }
    this.#programs.set(delegationId, end)
    signal.addEventListener('abort', () => end(), { once: true })
    if (signal.aborted) end()
    this.#options.session.runInBackground(this.tend())
    return promise
  }

  async ask(question: SessionQuestion): Promise<{ readonly questionId: string } | string> {
    const { session } = this.#options
    const asked = (await import('./questions.ts')).createQuestion(session, this.rows, question)
    if (typeof asked === 'string') return asked
    session.turns.arm()
    session.runInBackground(this.tend())
    return { questionId: asked.id }
  }

  // --- for the session

  /** Receives the end of a subagent. Repeating it changes nothing. False when there is no such subagent. */
  receiveReport(id: string, report: SubagentReport, runId: string): boolean {
    const row = this.rows.get(id)
    if (!row || row.runId !== runId) return false
    this.#end(row, report)
    this.#options.session.runInBackground(this.tend())
    return true
  }

  /** The next time at which `tend` has something to do. */
  getNextWake(): number | undefined {
    const open = this.rows.all().filter(({ isDelivered }) => !isDelivered)
    if (!open.length) return undefined
    const now = clock.now()
    const times = open.flatMap((row) => this.#wakeOf(row) ?? [])
    return times.length ? Math.max(now, Math.min(...times)) : undefined
  }

  #wakeOf(row: ChildRow): number | undefined {
    const { state, stop } = row
    switch (state.at) {
      case 'queued':
        return state.retryAt ?? (this.#hasFreePlace() ? clock.now() : undefined)
      case 'running':
        if (!this.#hasAsked) return clock.now()
        return state.seenAt + (stop !== undefined || !state.isStarted ? retryMs : pollIntervalMs)
      case 'ended':
        return this.#isHeldByProgram(row) ? undefined : this.#deliverAfter
    }
  }

  /** The program has the results, or has not asked yet. The end of its call comes to them. */
  #isHeldByProgram(row: ChildRow): boolean {
    return !this.#programs.get(row.delegation) && getPlace(this.#options.session, row).at === 'program'
  }

  /** Starts, asks, stops and ends what is due, and delivers results. Runs once at a time, and never rejects. */
  tend(): Promise<void> {
    if (this.#tending) this.#isTendingAgain = true
    return (this.#tending ??= this.#tendAll().finally(() => (this.#tending = undefined)))
  }

  /** Stops all subagents, because the session is being deleted, and deletes their sessions. Rejects when one stays. */
  async deleteAll(): Promise<void> {
    const { session } = this.#options
    const deleted = this.rows
      .all()
      .filter(isSubagent)
      .map(async ({ id }) => {
        await this.#stubOf(id).info.delete(session.ownAuthority)
        this.rows.delete(id)
      })
    await Promise.all(deleted)
  }

  // --- of this session, if it is a subagent itself

  /** Called when the driver has stopped, and by the alarm. Never rejects but with the object. */
  async handleDriverStop(): Promise<void> {
    const answering = this.#options.session.meta.askers?.length
      ? import('./questions.ts').then(({ answerAskers }) => answerAskers(this.#options))
      : undefined
    await Promise.all([this.tend(), this.reportEnd(), answering])
  }

  /** Reports the end of this subagent to its parent. The parent asks when the report is lost. */
  async reportEnd(): Promise<void> {
    const { session, env } = this.#options
    if (!session.exists || session.turns.isClosing) return
    const { subagent: link, parentId } = session.meta
    if (!link || parentId === null || this.#reportedRun === link.runId) return
    const report = endedReport(session)
    if (!report) return
    try {
      await failpoint('before-subagent-report')
      const parent = sessionStub(env, session.tenantId, parentId)
      await withinLimit(async () =>
        parent.subagents.report(session.ownAuthority, session.sessionId, report, link.runId),
      )
      this.#reportedRun = link.runId
    } catch (error) {
      log.warn('subagent.unreported', 'The end of a subagent could not be reported; its parent asks for it.', { error })
    }
  }

  /** A subagent has one run: what comes after it is reported as missed, and starts no other. */
  dropLate(): void {
    const { session } = this.#options
    const { subagent: link } = session.meta
    const late = link ? session.store.inbox() : []
    if (!link || !late.length) return
    session.store.removeFromInbox(late.map(({ id }) => id))
    const missed = [...(link.missed ?? []), ...late.map(({ message }) => textIn(message))]
    session.updateMeta({ subagent: { ...link, missed } })
    session.store.write()
  }

  // --- internal

  async #tendAll(): Promise<void> {
    const { session } = this.#options
    // Without subagents there is nothing to wake for: moving the alarm is a write.
    if (!this.#hasUndelivered()) return
    try {
      do {
        this.#isTendingAgain = false
        if (!session.exists || session.turns.isClosing || session.access.isPaused) return
        await this.#tendOnce()
      } while (this.#isTendingAgain)
    } catch (error) {
      if (isOwnReset(error)) throw error
      log.error('subagents.untended', 'The subagents of a session could not be tended.', { error })
      this.#deliverAfter = clock.now() + retryMs
    }
    if (session.exists && !session.turns.isClosing) session.turns.arm()
  }

  #hasUndelivered(): boolean {
    return this.rows.all().some(({ isDelivered }) => !isDelivered)
  }

  async #tendOnce(): Promise<void> {
    if (!this.#hasUndelivered()) return
    await this.#options.session.tenant.load()
    this.#stopUnawaited()
    await Promise.all(this.#unfinished().map((row) => this.#tendOne(row)))
    this.#hasAsked = true
    await startQueued({ ...this.#options, rows: this.rows, stubOf: this.#stubOf, end: this.#end })
    const { deliverResults } = await import('./deliver-results.ts')
    const waiting = (delegation: string) => this.#programs.get(delegation)
    const retryAt = await deliverResults({ ...this.#options, rows: this.rows, stubOf: this.#stubOf, waiting })
    this.#deliverAfter = retryAt ?? 0
    if (!this.#hasUndelivered()) this.#programs.clear()
  }

  /** The call of an ended or stopped turn takes no results any more: nobody would read what its subagents do. */
  #stopUnawaited(): void {
    for (const row of this.#unfinished())
      if (row.callId !== undefined && row.stop === undefined && !isAwaited(this.#options.session, row))
        this.rows.put({ ...row, stop: 'The turn that had started it ended.' })
  }

  async #tendOne(row: ChildRow): Promise<void> {
    const now = clock.now()
    if (!isRunning(row)) {
      if (row.stop !== undefined) this.#end(row, lostReport(row, 'interrupted', row.stop))
      return
    }
    const isDue = now >= (this.#wakeOf(row) ?? 0) || (row.stop !== undefined && !this.#stopped.has(row.id))
    if (!row.state.isStarted || !isDue) return
    this.rows.put({ ...row, state: { ...row.state, seenAt: now } })
    try {
      if (row.stop !== undefined) await this.#sendStop(row)
      await this.#ask(row)
    } catch (error) {
      if (isOwnReset(error)) throw error
      log.warn('subagent.unreachable', 'A subagent cannot be reached; it is asked again.', { error })
    }
    this.#endIfStalled(row.id)
  }

  /** Subagents that this instance has told to stop. */
  readonly #stopped = new Set<string>()

  async #sendStop({ id, runId }: ChildRow): Promise<void> {
    await withinLimit(async () => this.#stubOf(id).runs.stop(this.#options.session.ownAuthority, runId))
    this.#stopped.add(id)
  }

  async #ask({ id, runId }: ChildRow): Promise<void> {
    const { ownAuthority } = this.#options.session
    const status = await withinLimit<ChildStatus>(async () => this.#stubOf(id).subagents.status(ownAuthority, runId))
    const row = this.rows.get(id)
    if (!row || !isRunning(row)) return
    if (status.kind === 'ended') return this.#end(row, status.report)
    if (status.kind === 'missing') return this.#end(row, lostReport(row, 'unknown'))
    const watched = watch(row.state.watched, status.progress, clock.now())
    this.rows.put({ ...row, state: { ...row.state, watched } })
    this.#publishProgress(row, watched.progress.activity)
  }

  #endIfStalled(id: string): void {
    const row = this.rows.get(id)
    if (!row || !isRunning(row)) return
    const why = explainStall(row.state.watched, clock.now())
    if (why === undefined) return
    this.#options.session.runInBackground(this.#sendStop(row).catch(() => undefined))
    this.#end(row, lostReport(row, 'stalled', why))
  }

  #publishProgress(row: RunningRow, activity: string): void {
    const { callId, index, state } = row
    const { session } = this.#options
    const { store } = session
    if (callId === undefined || !store.hasOpenTurn || state.watched.progress.activity === activity) return
    const delta = `[${index}] ${activity}\n`
    const parent = getPlace(session, row).at === 'program' && { parent_call_id: programOf(callId) }
    store.publishProgress({ type: 'tool.progress', call_id: callId, tool: 'delegate_task', delta, ...parent })
  }

  readonly #end = (row: ChildRow, report: SubagentReport): void => {
    void failpoint('subagent-ended')
    endChild(this.#options.session, this.rows, row, report)
  }

  #unfinished(): readonly ChildRow[] {
    return this.rows.all().filter(({ state }) => state.at !== 'ended')
  }

  #hasFreePlace(): boolean {
    return this.rows.all().filter(isSubagent).filter(isRunning).length < this.limits().maxConcurrent
  }

  readonly #stubOf = (id: string) => {
    const { env, session } = this.#options
    return sessionStub(env, session.tenantId, this.rows.get(id)?.target ?? id)
  }
}

/** Why tasks cannot have the tools that they name: a name is unknown, or nothing of the parent is in them. */
function explainToolsets(
  tasks: readonly SubagentTask[],
  chosen: readonly (readonly string[])[],
  tools: readonly NamedTool[],
): string | undefined {
  const own = [...new Set(tools.map(({ toolset }) => toolset))].toSorted().join(', ')
  const isKnown = (name: string) =>
    isToolsetOrTool(name) || tools.some((tool) => [tool.name, tool.toolset].includes(name))
  const unknown = tasks.flatMap(({ toolsets = [] }) => toolsets).find((name) => !isKnown(name))
  if (unknown !== undefined) return `There is no toolset or tool ${unknown}. Your toolsets: ${own}.`
  const empty = tasks[chosen.findIndex((names) => !names.length)]
  return empty?.toolsets?.length
    ? `You have nothing of ${empty.toolsets.join(', ')}, so a subagent cannot either. Your toolsets: ${own}.`
    : undefined
}

/** `width`: how many ran at once, where others had to wait. */
function renderNote(hasWaited: boolean, width: number | undefined): { readonly note?: string } {
  const notes = [
    ...(hasWaited ? ['Background work is not possible here: this call has waited.'] : []),
    ...(width === undefined ? [] : [`${width} ran at once, the others after them.`]),
  ]
  return notes.length ? { note: notes.join(' ') } : {}
}

/** Why tasks cannot go on with the subagents that they name. */
function explainResumed(tasks: readonly SubagentTask[], rows: ChildRows): string | undefined {
  const ids = tasks.flatMap(({ resumes }) => resumes ?? [])
  const wrong = ids.find((id, i) => {
    const row = rows.get(id)
    return ids.indexOf(id) !== i || !row || !isSubagent(row) || row.state.at !== 'ended' || !row.isDelivered
  })
  if (wrong === undefined) return undefined
  return `task_id ${wrong} cannot be resumed: it has to be the subagent_id of a subagent of this conversation that has ended, and each once. See action "list".`
}

function viewOf({ id, delegation, index, task, state, createdAt }: ChildRow, now: number): SubagentView {
  const isActive = state.at === 'running'
  const [from, to] = isActive ? [state.since, now] : [createdAt, state.at === 'ended' ? state.endedAt : now]
  return {
    subagent_id: id,
    delegation_id: delegation,
    task_index: index,
    goal: task.goal.slice(0, 200),
    role: task.role,
    status: state.at === 'ended' ? state.report.status : state.at,
    activity: activityOf(state),
    seconds: Math.round((to - from) / 1_000),
  }
}

type Starting = {
  readonly session: Session
  readonly rows: ChildRows
  readonly stubOf: (id: string) => SessionStub
  readonly end: (row: ChildRow, report: SubagentReport) => void
}

/** Starts the subagents that wait, in their order, as long as there is a free place. */
async function startQueued(starting: Starting): Promise<void> {
  const { session, rows } = starting
  const running = rows.all().filter(isSubagent).filter(isRunning)
  const now = clock.now()
  const isDue = ({ state }: ChildRow) => state.at === 'queued' && (state.retryAt ?? 0) <= now
  const free = Math.max(0, limitsOf(session).maxConcurrent - running.length)
  const queued = rows.all().filter(isDue)
  for (const row of queued) if (!isSubagent(row)) take(starting, row, {})
  const due = queued.filter(isSubagent)
  const chosen = due.slice(0, free)
  const held = running.map(({ state }) => state.grant)
  const grants = chosen.map((_row, i) => {
    const grant = chooseGrant(session, held, due.length - i)
    held.push(grant)
    return grant
  })
  for (const [i, row] of chosen.entries()) take(starting, row, grants[i] ?? {})
  const unstarted = rows.all().filter((row) => isRunning(row) && !row.state.isStarted)
  await Promise.all(unstarted.map((row) => start(starting, row.id)))
}

/** From here on the subagent may have started. */
function take({ session, rows, end }: Starting, row: ChildRow, grant: SubagentGrant): void {
  if (isExhausted(grant))
    return end(row, lostReport(row, 'error', 'Not started: the spending limit of this turn or session is used up.'))
  const now = clock.now()
  const state = {
    at: 'running',
    since: now,
    isStarted: false,
    seenAt: now,
    watched: startWatching(now),
    grant,
  } as const
  rows.put({ ...row, state })
  const { store } = session
  if (!store.current() || !isSubagent(row)) return
  store.addEvent({
    type: 'subagent.start',
    subagent_id: row.id,
    delegation_id: row.delegation,
    task_index: row.index,
    goal: row.task.goal.slice(0, 200),
    role: row.task.role,
    depth: limitsOf(session).depth + 1,
  })
  store.write()
}

/** A repetition finds the run of an earlier attempt. */
async function start(starting: Starting, id: string): Promise<void> {
  const { session, rows } = starting
  const row = rows.get(id)
  const tenant = session.tenant.snapshot
  if (!row || !isRunning(row) || !tenant) return
  try {
    if (row.stop !== undefined) return await stopUnstarted(starting, row, row.stop)
    await failpoint('before-subagent')
    const outcome = isSubagent(row)
      ? await startSession(starting, row, createStart(session, row, tenant, row.state.grant))
      : await (await import('./questions.ts')).sendQuestion(session, starting.stubOf(id), row, tenant)
    await failpoint('after-subagent')
    applyOutcome(starting, id, outcome)
  } catch (error) {
    if (isOwnReset(error)) throw error
    log.warn('subagent.unstarted', 'A subagent could not be started; the alarm tries again.', { error })
    const latest = rows.get(id)
    if (latest && isRunning(latest)) rows.put({ ...latest, state: { ...latest.state, seenAt: clock.now() } })
  }
}

const startSession = ({ stubOf }: Starting, { id }: ChildRow, request: ChildStart): Promise<SubagentStart> =>
  withinLimit<SubagentStart>(async () => stubOf(id).subagents.start(request.authority, request))

function applyOutcome({ rows, end }: Starting, id: string, outcome: SubagentStart): void {
  const row = rows.get(id)
  if (!row || !isRunning(row)) return
  switch (outcome.kind) {
    case 'started':
      return rows.put({ ...row, state: { ...row.state, isStarted: true, seenAt: clock.now() } })
    case 'over-limit':
      return rows.put({ ...row, state: queueAgain(outcome) })
    case 'refused':
      return end(row, lostReport(row, 'error', `Not started: ${outcome.reason}`))
  }
}

const queueAgain = ({ limit, retryAfterMs }: Extract<SubagentStart, { kind: 'over-limit' }>): ChildRow['state'] => ({
  at: 'queued',
  retryAt: clock.now() + retryAfterMs,
  limit,
})

/** An earlier attempt may have started it without an answer. */
async function stopUnstarted({ session, stubOf, end }: Starting, row: ChildRow, reason: string): Promise<void> {
  await withinLimit(async () => stubOf(row.id).runs.stop(session.ownAuthority, row.runId))
  end(row, lostReport(row, 'interrupted', reason))
}
