/**
 * Manages the background processes of a session. A row is stored before a process is started on the host, so that a
 * restarted Durable Object finds it again. The end of a process is reported to the model once: in a tool result, or in a
 * message of its own.
 */

import type { Authority } from '#agent/core/permission/authority.ts'
import { combineAuthorities, joinAuthority } from '#agent/core/permission/contribution.ts'
import { BackendError, type BackendKind, type Jobs, type CommandState } from '#agent/core/backend.ts'
import { hash53 } from '#agent/core/hash53.ts'
import { type UserMessage, userText } from '#agent/core/message.ts'
import {
  explainEnd,
  type Processes,
  type ProcessInput,
  type ProcessLookup,
  type ProcessStart,
  type ProcessState,
  type ProcessView,
} from '#agent/core/process.ts'
import { renderScreen, withPty } from '#tools/terminal/pty-command.ts'
import { newNonce } from '#durable/platform/ids.ts'
import type { ProcessRow, ProcessRows } from './process-rows.ts'
import {
  clearHits,
  mayNotify,
  minNoticeIntervalMs,
  newWatch,
  noNotices,
  recordNotice,
  scanOutput,
} from './process-watch.ts'
import { clock } from '#durable/platform/clock.ts'
import { maskSecrets } from '#agent/core/secrets/mask-secrets.ts'
import { fenceUntrusted } from '#agent/untrusted/fence.ts'

export type ProcessOptions = {
  readonly rows: ProcessRows
  /** The jobs of the current backend. */
  readonly jobs: () => Jobs | undefined
  readonly kind: () => BackendKind
  readonly jobsOn: (kind: BackendKind) => Jobs | undefined
  /** Number of the current reply; call ids repeat in later replies. */
  readonly step: () => number
  readonly now: () => number
  /** Masks secrets of the tenant in notices. */
  readonly redact?: (text: string) => string
}

/** `contributors`: undefined for a process whose contributors are not known. */
export type ProcessNotice = {
  readonly message: UserMessage
  readonly contributors: readonly (Authority | undefined)[]
}

const maxProcesses = 64
const retentionMs = 1_800_000
/** A process whose host has been unreachable for so long after its timeout is lost. */
const graceMs = 600_000
const maxOutputChars = 200_000
const pageBytes = 262_144
const maxPages = 64
/** While a process runs, the next poll continues. */
const maxPagesPerPoll = 8
const tailChars = 1_500
const noticeDelayMs = 1_000
const pollIntervals = { minMs: 2_000, maxMs: 30_000, afterFailureMs: 60_000 } as const

export class SessionProcesses implements Processes {
  readonly #options: ProcessOptions
  readonly #rows: ProcessRows
  /** Ids of processes whose start request is pending; the host may not list them yet. */
  readonly #starting = new Set<string>()
  #noticeRate = noNotices
  #polledAt = 0
  #hasFailed = false
  #noticeAfter = 0

  constructor(options: ProcessOptions) {
    this.#options = options
    this.#rows = options.rows
  }

  // --- for tools

  async start(request: ProcessStart): Promise<ProcessView> {
    const jobs = this.#options.jobs()
    if (!jobs) throw new BackendError('unsupported', 'This host cannot run commands in the background.', foregroundHint)
    const id = `proc_${hash53(`${this.#options.step()} ${request.callId}`).toString(36)}`
    if (!this.#rows.get(id)) {
      this.#makeRoom()
      this.#rows.put(newRow(id, request, { kind: this.#options.kind(), now: this.#now() }))
    }
    const { cwd, env, timeoutMs } = request
    const command = request.pty ? withPty(request.command) : request.command
    let pid: number | undefined
    this.#starting.add(id)
    try {
      pid = await jobs.start(id, command, { cwd, env, timeoutMs })
    } catch (error) {
      // An unreachable host may have started it all the same: the next poll finds out.
      if (error instanceof BackendError && error.code !== 'unavailable') this.#rows.delete(id)
      throw error
    } finally {
      this.#starting.delete(id)
    }
    this.#update(id, (row) => ({
      ...row,
      ...(pid !== undefined && { pid }),
      state: row.state.at === 'starting' ? { at: 'running' } : row.state,
    }))
    this.#polledAt = this.#now()
    return viewOf(this.#requireRow(id))
  }

  list(): readonly ProcessView[] {
    return this.#rows.all().map(viewOf)
  }

  /** Lists the ids of the processes that run on this backend. */
  listOn(kind: BackendKind): readonly string[] {
    return this.#rows
      .all()
      .filter((row) => row.kind === kind && isRunning(row))
      .map(({ id }) => id)
  }

  find(id: string): ProcessLookup {
    return findRow(this.#rows.all(), id)
  }

  async refresh(id: string): Promise<ProcessView> {
    const row = this.#requireRow(id)
    if (isRunning(row)) await this.#poll(row)
    return viewOf(this.#requireRow(id))
  }

  async wait(id: string, timeoutMs: number, signal: AbortSignal): Promise<ProcessView> {
    const deadline = this.#now() + timeoutMs
    for (let pause = 100; ; pause = Math.min(pause * 1.5, 2_000)) {
      const process = await this.refresh(id)
      const left = deadline - this.#now()
      if (process.state.at !== 'running' || left <= 0 || signal.aborted) return process
      await clock.wait(Math.min(pause, left), { signal }).catch(emptyText)
    }
  }

  /** Reads the whole output in pages and keeps the end. */
  async output(id: string): Promise<string> {
    const row = this.#requireRow(id)
    const jobs = this.#jobsOf(row)
    let [text, from] = ['', row.base]
    for (let page = 0; page < maxPages; page++) {
      const { text: more, next } = await jobs.output(id, from, pageBytes)
      text = (text + more).slice(-maxOutputChars)
      if (next <= from) break
      from = next
    }
    // A character has at most four bytes.
    const base = Math.max(row.base, from - maxOutputChars * 4)
    if (base > row.base) this.#update(id, (current) => ({ ...current, base }))
    return row.pty ? renderScreen(text) : text
  }

  async write(id: string, { callId, by, text, close }: ProcessInput): Promise<'written' | 'unsure'> {
    const row = this.#requireRow(id)
    const { write } = this.#jobsOf(row)
    if (!write) throw new BackendError('unsupported', 'A process has no input on this host.', inputHint)
    const input = `${this.#options.step()} ${callId}`
    if (row.input === input) return 'unsure'
    this.#rows.put({ ...row, input, ...(row.authority && { authority: joinAuthority(row.authority, by) }) })
    await write(id, text, close)
    return 'written'
  }

  async kill(id: string): Promise<ProcessView> {
    const process = await this.refresh(id)
    if (process.state.at !== 'running') return process
    const row = this.#requireRow(id)
    await this.#jobsOf(row).kill(id)
    await this.#poll(row)
    this.#update(id, (current) =>
      current.state.at === 'exited' ? { ...current, state: { ...current.state, killed: true } } : current,
    )
    return viewOf(this.#requireRow(id))
  }

  markReported(id: string): void {
    this.#update(id, (row) => (isEnded(row) ? { ...row, told: true, watch: clearHits(row.watch, this.#now()) } : row))
  }

  // --- for the session

  /** Polls all running processes. Errors of the host are ignored: the next poll retries. */
  async pollAll(): Promise<void> {
    this.#deleteOld()
    this.#polledAt = this.#now()
    const results = await Promise.allSettled(
      this.#rows
        .all()
        .filter(isRunning)
        .map((row) => this.#poll(row)),
    )
    const failures = results.flatMap((result) => (result.status === 'rejected' ? [result.reason as unknown] : []))
    this.#hasFailed = failures.length > 0
    const defect = failures.find((reason) => !(reason instanceof BackendError))
    if (defect) throw defect
  }

  /** Time of the next poll or notice. Young processes are polled more often, because most end soon. An idle session is notified at once. */
  getNextWake(isIdle: boolean): number | undefined {
    const now = this.#now()
    const news = isIdle && this.hasNotice() ? [Math.max(now + noticeDelayMs, this.#noticeAfter)] : []
    const starts = this.#rows
      .all()
      .filter(isRunning)
      .map(({ startedAt }) => startedAt)
    const age = Math.max(0, now - Math.max(...starts))
    const wait = this.#hasFailed
      ? pollIntervals.afterFailureMs
      : Math.min(pollIntervals.maxMs, Math.max(pollIntervals.minMs, age))
    const times = [...news, ...(starts.length ? [this.#polledAt + wait] : [])]
    return times.length ? Math.min(...times) : undefined
  }

  hasNotice(): boolean {
    return this.#rowsToReport().length > 0
  }

  /** Returns one message about everything unreported, and marks it as reported. `contributors`: who has made the output. */
  takeNotice(): ProcessNotice | undefined {
    const at = this.#now()
    const due = this.#rowsToReport()
    if (!due.length) return undefined
    for (const row of due) {
      if (hasHits(row)) this.#noticeRate = recordNotice(this.#noticeRate, at)
      this.#rows.put({ ...row, told: isEnded(row), watch: clearHits(row.watch, at) })
    }
    const notice = renderNotice(due, newNonce(), this.#options.redact ?? maskSecrets)
    const message = userText(notice, 'process')
    return { message, contributors: due.map(({ authority }) => authority) }
  }

  /** Postpones the notices, when they cannot be delivered now. */
  postponeNotice(ms: number): void {
    this.#noticeAfter = this.#now() + ms
  }

  async killAll(): Promise<void> {
    const running = this.#rows.all().filter(isRunning)
    await Promise.allSettled(running.map(async (row) => this.#jobsOf(row).kill(row.id)))
  }

  // --- internal

  #rowsToReport(): readonly ProcessRow[] {
    const at = this.#now()
    const isDue = (row: ProcessRow) =>
      isDueAtEnd(row) ||
      (hasHits(row) && at - row.watch.toldAt >= minNoticeIntervalMs && mayNotify(this.#noticeRate, at))
    return this.#rows.all().filter(isDue)
  }

  #now(): number {
    return this.#options.now()
  }

  #requireRow(id: string): ProcessRow {
    const row = this.#rows.get(id)
    if (row) return row
    throw new BackendError('invalid', `There is no process ${id}.`, 'See process with action "list".')
  }

  #jobsOf({ kind }: ProcessRow): Jobs {
    const jobs = this.#options.jobsOn(kind)
    if (jobs) return jobs
    throw new BackendError('unavailable', `The backend ${kind} has no background processes.`)
  }

  /** Updates the current row: during an await it may have been killed, reported or deleted. */
  #update(id: string, to: (row: ProcessRow) => ProcessRow): void {
    const row = this.#rows.get(id)
    const changed = row && to(row)
    if (changed && changed !== row) this.#rows.put(changed)
  }

  async #poll(row: ProcessRow): Promise<void> {
    if (this.#starting.has(row.id)) return
    const state = await queryState(this.#jobsOf(row), row, this.#now())
    if (this.#starting.has(row.id)) return
    if (state.at === 'running') {
      await this.#scan(row, false)
      this.#update(row.id, (current) => (current.state.at === 'starting' ? { ...current, state } : current))
      return
    }
    // It never started; the result of its start call reports that.
    if (state.at === 'lost' && row.state.at === 'starting') return this.#rows.delete(row.id)
    await this.#scan(row, true)
    const tail = (await this.output(row.id).catch(emptyText)).slice(-tailChars)
    this.#update(row.id, (current) =>
      isRunning(current) ? { ...current, tail, state: endStateOf(state, current, this.#now()) } : current,
    )
  }

  /** Scans new output for watched texts. Output that cannot be read now is read by the next poll. */
  async #scan(row: ProcessRow, isEnd: boolean): Promise<void> {
    if (row.watch.off) return
    let [text, from] = ['', row.watch.from]
    for (let page = 0; page < (isEnd ? maxPages : maxPagesPerPoll); page++) {
      const { text: more, next } = await this.#jobsOf(row)
        .output(row.id, from, pageBytes)
        .catch(() => ({ text: '', next: from }))
      text += more
      if (next <= from) break
      from = next
    }
    this.#update(row.id, (current) => {
      if (current.watch.from !== row.watch.from) return current
      const watch = scanOutput(current.watch, { text, next: from, isAll: isEnd }, this.#now())
      return { ...current, watch, notify: current.notify || watch.off }
    })
  }

  #deleteOld(): void {
    for (const row of this.#rows.all())
      if (isEnded(row) && !isDueAtEnd(row) && this.#now() - row.state.endedAt > retentionMs) this.#rows.delete(row.id)
  }

  #makeRoom(): void {
    this.#deleteOld()
    const all = this.#rows.all()
    if (all.length < maxProcesses) return
    const oldest = all.find((row) => isEnded(row) && !isDueAtEnd(row))
    if (!oldest)
      throw new BackendError('quota', `${maxProcesses} processes are running.`, 'Kill one with process, action "kill".')
    this.#rows.delete(oldest.id)
  }
}

const foregroundHint = 'Run it in the foreground, with a timeout of up to 600 seconds.'
const inputHint = 'Put the input into a file and start the command with < FILE.'
const emptyText = () => ''

type EndedProcess = ProcessRow & { readonly state: Exclude<ProcessRow['state'], { at: 'starting' | 'running' }> }

const isEnded = (row: ProcessRow): row is EndedProcess => !isRunning(row)
const isRunning = ({ state }: ProcessRow): boolean => state.at === 'starting' || state.at === 'running'
const hasHits = ({ watch }: ProcessRow): boolean => watch.hits.length > 0
/** An ended process is reported without waiting for the notice interval. */
const isDueAtEnd = (row: ProcessRow): boolean => isEnded(row) && !row.told && (row.notify || hasHits(row))

async function queryState(jobs: Jobs, { id, until }: ProcessRow, now: number): Promise<CommandState> {
  try {
    return await jobs.state(id)
  } catch (error) {
    if (!(error instanceof BackendError)) throw error
    // The host responds but does not list the process: the host was replaced.
    if (error.code === 'invalid') return { at: 'lost', reason: 'replaced' }
    if (now > until + graceMs) return { at: 'lost', reason: 'unreachable' }
    throw error
  }
}

/** The host knows when a process ended. It may be polled much later, and its clock may differ. */
function endStateOf(
  state: Exclude<CommandState, { readonly at: 'running' }>,
  { startedAt, until }: ProcessRow,
  now: number,
): ProcessState {
  if (state.at === 'lost') return { ...state, endedAt: Math.min(now, until) }
  const { endedMsAgo = 0, ...end } = state
  return { ...end, endedAt: Math.max(startedAt, Math.min(now - Math.max(0, endedMsAgo), until)) }
}

function newRow(
  id: string,
  { by, command, pty, cwd, timeoutMs, notify, watch }: ProcessStart,
  { kind, now }: { readonly kind: BackendKind; readonly now: number },
): ProcessRow {
  const times = { startedAt: now, until: now + timeoutMs }
  const report = { notify, watch: newWatch(watch, now), told: false, tail: '', base: 0 }
  const authority = combineAuthorities([by])
  return { id, authority, command, ...(pty && { pty }), cwd, kind, ...times, state: { at: 'starting' }, ...report }
}

const viewOf = ({ id, command, cwd, pid, pty, startedAt, state, notify, watch }: ProcessRow): ProcessView => ({
  id,
  command,
  cwd,
  ...(pid !== undefined && { pid }),
  ...(pty && { pty }),
  startedAt,
  state: state.at === 'starting' ? { at: 'running' } : state,
  notify,
  watching: watch.off ? [] : watch.patterns,
})

function findRow(all: readonly ProcessRow[], id: string): ProcessLookup {
  const matching = all.filter((row) => row.id.startsWith(id))
  const [one, another] = matching
  const exact = all.find((row) => row.id === id) ?? (another ? undefined : one)
  return exact ? { process: viewOf(exact) } : { candidates: matching.map((row) => row.id) }
}

const maxQuotedChars = 1_500
const maxCommandChars = 200
const maxNoticeChars = 16_000

type Redact = (text: string) => string

/** Renders one message for all processes. Their output is marked, because it is untrusted data. */
function renderNotice(rows: readonly ProcessRow[], nonce: string, redact: Redact): string {
  const head = rows.length > 1 ? `${rows.length} background processes have news.` : 'News of a background process.'
  const note = 'This was written by the system, not by the user; lines after "|" are output of programs.'
  const parts = [`[${head} ${note}]`]
  let chars = 0
  for (const row of rows) {
    const part = renderProcess(row, nonce, redact)
    chars += part.length
    // A process is left out as a whole, so that no fence stays open.
    if (chars > maxNoticeChars) return [...parts, '[... more: process list]'].join('\n\n')
    parts.push(part)
  }
  return parts.join('\n\n')
}

function renderProcess(row: ProcessRow, nonce: string, redact: Redact): string {
  const { id, command, watch, tail } = row
  const shown = redact(command).replaceAll('\n', ' ').slice(0, maxCommandChars)
  const parts = [`${id} (${shown}) ${describeState(row)}.`]
  if (watch.hits.length) {
    const more = watch.more ? `, and ${watch.more} more` : ''
    parts.push(`It printed watched text${more}:\n${quoteOutput(redact(watch.hits.join('\n')), id, nonce)}`)
  }
  if (watch.off && watch.patterns.length)
    parts.push('This happens too often: the text is not watched any more, and the end of the process will be reported.')
  if (row.state.at !== 'running' && tail) parts.push(`The end of its output:\n${quoteOutput(redact(tail), id, nonce)}`)
  return parts.join('\n')
}

function describeState({ state, startedAt }: ProcessRow): string {
  if (state.at === 'starting' || state.at === 'running') return 'is running'
  const seconds = Math.max(0, Math.round((state.endedAt - startedAt) / 1_000))
  const why = explainEnd(state)
  return state.at === 'exited'
    ? `exited with code ${state.exitCode} after ${seconds} s${why === undefined ? '' : `: ${why}`}`
    : `is lost: ${why}, and it is unknown how it ended`
}

function quoteOutput(text: string, source: string, nonce: string): string {
  const shown = text.trimEnd().slice(-maxQuotedChars)
  const quoted = shown
    .split('\n')
    .map((line) => `| ${line}`)
    .join('\n')
  return fenceUntrusted(quoted, { source: `output of ${source}`, nonce })
}
