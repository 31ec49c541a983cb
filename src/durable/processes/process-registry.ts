/**
 * The background processes of a session. They run on its machine, named by us; what is known of them is written down
 * before the machine is asked, so that an object that died finds them again. How one ended is noticed once, and told
 * to the model once: by a tool that it asked, or by a message of its own.
 */

import { BackendError, type BackendKind, type Jobs, type JobState } from '../../agent/model/backend.ts'
import { hash53 } from '../../agent/model/hash.ts'
import { type UserMessage, userText } from '../../agent/model/message.ts'
import type { Found, Processes, ProcessInput, ProcessStart, ProcessView } from '../../agent/model/process.ts'
import { renderScreen, withPty } from '../../tools/terminal/pty-command.ts'
import { renderNotice } from './process-notice.ts'
import type { ProcessRow, ProcessRows } from './process-rows.ts'
import { recordNotice, minNoticeIntervalMs, mayNotify, newWatch, noNotices, clearHits, scanOutput } from './process-watch.ts'
import { clock } from '../platform/clock.ts'

export type ProcessOptions = {
  readonly rows: ProcessRows
  /** Of the machine that the session uses now. */
  readonly jobs: () => Jobs | undefined
  readonly kind: () => BackendKind
  readonly jobsOn: (kind: BackendKind) => Jobs | undefined
  /** The reply that calls: ids of calls come again in later ones. */
  readonly step: () => number
  readonly now: () => number
}

const most = 64
const keptMs = 1_800_000
/** A machine that has not said anything about a process for so long after its time does not have it any more. */
const graceMs = 600_000
const bufferLength = 200_000
const pageBytes = 262_144
const pages = 64
/** While it runs, the next look goes on. */
const pagesAtOnce = 8
const tailLength = 1_500
const soonMs = 1_000
const gap = { least: 2_000, most: 30_000, afterFailure: 60_000 } as const

export class SessionProcesses implements Processes {
  readonly #options: ProcessOptions
  readonly #rows: ProcessRows
  /** The machine was asked to begin them and has not answered: that it does not know them yet means nothing. */
  readonly #starting = new Set<string>()
  #noticeRate = noNotices
  #polledAt = 0
  #hasFailed = false
  #noticeAfter = 0

  constructor(world: ProcessOptions) {
    this.#options = world
    this.#rows = world.rows
  }

  // --- for tools

  async start(request: ProcessStart): Promise<ProcessView> {
    const jobs = this.#options.jobs()
    if (!jobs) throw new BackendError('unsupported', 'This machine cannot run commands in the background.', foreground)
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
      // Who could not be reached may have begun all the same: that is found out by the next look.
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

  find(id: string): Found {
    return found(this.#rows.all(), id)
  }

  async look(id: string): Promise<ProcessView> {
    const row = this.#requireRow(id)
    if (isRunning(row)) await this.#poll(row)
    return viewOf(this.#requireRow(id))
  }

  async wait(id: string, timeoutMs: number, signal: AbortSignal): Promise<ProcessView> {
    const deadline = this.#now() + timeoutMs
    for (let pause = 100; ; pause = Math.min(pause * 1.5, 2_000)) {
      const process = await this.look(id)
      const left = deadline - this.#now()
      if (process.state.at !== 'running' || left <= 0 || signal.aborted) return process
      await clock.wait(Math.min(pause, left), { signal }).catch(nothing)
    }
  }

  /** All there is of it is read, page by page; only the last of it is held. */
  async output(id: string): Promise<string> {
    const row = this.#requireRow(id)
    const jobs = this.#jobsOf(row)
    let [text, from] = ['', row.base]
    for (let page = 0; page < pages; page++) {
      const { text: more, next } = await jobs.output(id, from, pageBytes)
      text = (text + more).slice(-bufferLength)
      if (next <= from) break
      from = next
    }
    // A character has at most four bytes.
    const base = Math.max(row.base, from - bufferLength * 4)
    if (base > row.base) this.#update(id, (known) => ({ ...known, base }))
    return row.pty ? renderScreen(text) : text
  }

  async write(id: string, { callId, text, close }: ProcessInput): Promise<'written' | 'unsure'> {
    const row = this.#requireRow(id)
    const { write } = this.#jobsOf(row)
    if (!write) throw new BackendError('unsupported', 'A process has no input on this machine.', noInput)
    const input = `${this.#options.step()} ${callId}`
    if (row.input === input) return 'unsure'
    this.#rows.put({ ...row, input })
    await write(id, text, close)
    return 'written'
  }

  async kill(id: string): Promise<ProcessView> {
    const process = await this.look(id)
    if (process.state.at !== 'running') return process
    const row = this.#requireRow(id)
    await this.#jobsOf(row).kill(id)
    await this.#poll(row)
    this.#update(id, (known) =>
      known.state.at === 'exited' ? { ...known, state: { ...known.state, killed: true } } : known,
    )
    return viewOf(this.#requireRow(id))
  }

  told(id: string): void {
    this.#update(id, (row) => (isEnded(row) ? { ...row, told: true, watch: clearHits(row.watch, this.#now()) } : row))
  }

  // --- for the session

  /** Asks about all that run, once. What a machine does is no error: it is asked again later. */
  async pollAll(): Promise<void> {
    this.#deleteOld()
    this.#polledAt = this.#now()
    const asked = await Promise.allSettled(
      this.#rows
        .all()
        .filter(isRunning)
        .map((row) => this.#poll(row)),
    )
    const failures = asked.flatMap((result) => (result.status === 'rejected' ? [result.reason as unknown] : []))
    this.#hasFailed = failures.length > 0
    const defect = failures.find((reason) => !(reason instanceof BackendError))
    if (defect) throw defect
  }

  /** When that is due next. A young process is looked at more often: most end soon. News of an idle session wait for nothing. */
  getNextWake(isIdle: boolean): number | undefined {
    const now = this.#now()
    const news = isIdle && this.hasNotice() ? [Math.max(now + soonMs, this.#noticeAfter)] : []
    const starts = this.#rows
      .all()
      .filter(isRunning)
      .map(({ startedAt }) => startedAt)
    const age = Math.max(0, now - Math.max(...starts))
    const wait = this.#hasFailed ? gap.afterFailure : Math.min(gap.most, Math.max(gap.least, age))
    const times = [...news, ...(starts.length ? [this.#polledAt + wait] : [])]
    return times.length ? Math.min(...times) : undefined
  }

  hasNotice(): boolean {
    return this.#rowsToReport().length > 0
  }

  /** What the session has not heard yet, as one message; it counts as told from here on. */
  takeNotice(): UserMessage | undefined {
    const at = this.#now()
    const due = this.#rowsToReport()
    if (!due.length) return undefined
    for (const row of due) {
      if (hasHits(row)) this.#noticeRate = recordNotice(this.#noticeRate, at)
      this.#rows.put({ ...row, told: isEnded(row), watch: clearHits(row.watch, at) })
    }
    return userText(renderNotice(due), 'process')
  }

  /** It cannot be told now: another try comes later. */
  postponeNotice(): void {
    this.#noticeAfter = this.#now() + gap.afterFailure
  }

  async killAll(): Promise<void> {
    const running = this.#rows.all().filter(isRunning)
    await Promise.allSettled(running.map(async (row) => this.#jobsOf(row).kill(row.id)))
  }

  // --- inside

  #rowsToReport(): readonly ProcessRow[] {
    const at = this.#now()
    const isDue = (row: ProcessRow) =>
      isDueAtEnd(row) || (hasHits(row) && at - row.watch.toldAt >= minNoticeIntervalMs && mayNotify(this.#noticeRate, at))
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
    throw new BackendError('unavailable', `The machine ${kind} has no background processes.`)
  }

  /** After every wait: meanwhile it may have been killed, told of or forgotten. */
  #update(id: string, to: (row: ProcessRow) => ProcessRow): void {
    const row = this.#rows.get(id)
    const changed = row && to(row)
    if (changed && changed !== row) this.#rows.put(changed)
  }

  async #poll(row: ProcessRow): Promise<void> {
    if (this.#starting.has(row.id)) return
    const state = await stateOn(this.#jobsOf(row), row, this.#now())
    if (this.#starting.has(row.id)) return
    if (state.at === 'running') {
      await this.#scan(row, false)
      this.#update(row.id, (known) => (known.state.at === 'starting' ? { ...known, state } : known))
      return
    }
    // It never began: whoever started it was told so, or is told that it is unknown.
    if (state.at === 'lost' && row.state.at === 'starting') return this.#rows.delete(row.id)
    await this.#scan(row, true)
    const tail = (await this.output(row.id).catch(nothing)).slice(-tailLength)
    this.#update(row.id, (known) =>
      isRunning(known) ? { ...known, tail, state: { ...state, endedAt: Math.min(this.#now(), known.until) } } : known,
    )
  }

  /** Looks for what is watched for in what was printed since. What cannot be read now is read later. */
  async #scan(row: ProcessRow, isEnd: boolean): Promise<void> {
    if (row.watch.off) return
    let [text, from] = ['', row.watch.from]
    for (let page = 0; page < (isEnd ? pages : pagesAtOnce); page++) {
      const { text: more, next } = await this.#jobsOf(row)
        .output(row.id, from, pageBytes)
        .catch(() => ({ text: '', next: from }))
      text += more
      if (next <= from) break
      from = next
    }
    this.#update(row.id, (known) => {
      if (known.watch.from !== row.watch.from) return known
      const watch = scanOutput(known.watch, { text, next: from, isAll: isEnd }, this.#now())
      return { ...known, watch, notify: known.notify || watch.off }
    })
  }

  #deleteOld(): void {
    for (const row of this.#rows.all())
      if (isEnded(row) && !isDueAtEnd(row) && this.#now() - row.state.endedAt > keptMs) this.#rows.delete(row.id)
  }

  #makeRoom(): void {
    this.#deleteOld()
    const all = this.#rows.all()
    if (all.length < most) return
    const oldest = all.find((row) => isEnded(row) && !isDueAtEnd(row))
    if (!oldest)
      throw new BackendError('quota', `${most} processes are running.`, 'Kill one with process, action "kill".')
    this.#rows.delete(oldest.id)
  }
}

const foreground = 'Run it in the foreground, with a timeout of up to 600 seconds.'
const noInput = 'Put the input into a file and start the command with < FILE.'
const nothing = () => ''

type Ended = ProcessRow & { readonly state: Exclude<ProcessRow['state'], { at: 'starting' | 'running' }> }

const isEnded = (row: ProcessRow): row is Ended => !isRunning(row)
const isRunning = ({ state }: ProcessRow): boolean => state.at === 'starting' || state.at === 'running'
const hasHits = ({ watch }: ProcessRow): boolean => watch.hits.length > 0
/** Nothing more will come: what there is to tell does not wait for the next look. */
const isDueAtEnd = (row: ProcessRow): boolean => isEnded(row) && !row.told && (row.notify || hasHits(row))

async function stateOn(jobs: Jobs, { id, until }: ProcessRow, now: number): Promise<JobState> {
  try {
    return await jobs.state(id)
  } catch (error) {
    if (!(error instanceof BackendError)) throw error
    // The machine is there and does not know it: it is another machine.
    if (error.code === 'invalid' || now > until + graceMs) return { at: 'lost' }
    throw error
  }
}

function newRow(
  id: string,
  { command, pty, cwd, timeoutMs, notify, watch }: ProcessStart,
  { kind, now }: { readonly kind: BackendKind; readonly now: number },
): ProcessRow {
  const times = { startedAt: now, until: now + timeoutMs }
  const news = { notify, watch: newWatch(watch, now), told: false, tail: '', base: 0 }
  return { id, command, ...(pty && { pty }), cwd, kind, ...times, state: { at: 'starting' }, ...news }
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

function found(all: readonly ProcessRow[], id: string): Found {
  const matching = all.filter((row) => row.id.startsWith(id))
  const [one, another] = matching
  const exact = all.find((row) => row.id === id) ?? (another ? undefined : one)
  return exact ? { process: viewOf(exact) } : { candidates: matching.map((row) => row.id) }
}
