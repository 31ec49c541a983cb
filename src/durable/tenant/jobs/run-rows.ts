/** Stores the runs of jobs. A job has at most one run for each slot, and a run that has ended stays as it ended. */

import type { Marks } from '#agent/core/marks.ts'
import type { EndedStatus, JobPlan, JobRunStatus } from '#agent/schedule/job/job.ts'

export type JobRun = {
  readonly id: string
  readonly jobId: string
  /** When the job was due; of a manual run the time of the request. */
  readonly slot: number
  readonly status: JobRunStatus
  readonly isManual?: true
  readonly claimedAt: number
  readonly startedAt?: number
  readonly finishedAt?: number
  /** How late it began. */
  readonly lateMs?: number
  readonly sessionId?: string
  readonly runId?: string
  readonly output?: string
  /** Of the output. */
  readonly marks?: Marks
  readonly error?: string
  readonly deliveryError?: string
  /** Slots that the record stands for, when there are several. */
  readonly slots?: number
  /** Absent once the run has ended. */
  readonly plan?: JobPlan
  /** The text that the monitor of this run has seen. It counts for the job once the run has begun. */
  readonly seen?: { readonly hash: string; readonly text: string }
}

export type OpenRun = JobRun & { readonly plan: JobPlan; readonly status: 'claimed' | 'running' }
export type EndedRun = JobRun & { readonly status: EndedStatus; readonly finishedAt: number }

const schema = [
  `CREATE TABLE IF NOT EXISTS job_run (n INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, job TEXT NOT NULL,
    slot INTEGER NOT NULL, status TEXT NOT NULL, check_at INTEGER, session TEXT, body TEXT NOT NULL, UNIQUE (job, slot))`,
  'CREATE INDEX IF NOT EXISTS job_run_open ON job_run(check_at) WHERE check_at IS NOT NULL',
]

/** Ended runs that are kept for a tenant, besides the last one of each job. */
const maxEnded = 1_000
/** Old runs are deleted after so many new ones. */
const pruneEvery = 50

type RunBody = { body: string }
const runOf = ({ body }: RunBody): JobRun => JSON.parse(body) as JobRun
const isOpen = (run: JobRun): run is OpenRun => run.status === 'claimed' || run.status === 'running'

export class RunRows {
  readonly #sql: SqlStorage
  #openCount: number | undefined
  #sincePrune = 0

  constructor(sql: SqlStorage) {
    this.#sql = sql
    for (const statement of schema) sql.exec(statement)
  }

  /** False when the job has a run for this slot already: somebody else was first. `checkAt`: when to look after it; undefined for one that has ended. */
  add(run: JobRun, checkAt: number | undefined): boolean {
    const { id, jobId, slot, status, sessionId } = run
    const openCount = this.countOpen()
    const insert = `INSERT INTO job_run (id, job, slot, status, check_at, session, body) VALUES (?, ?, ?, ?, ?, ?, ?)
      ON CONFLICT DO NOTHING RETURNING n`
    const rows = this.#sql
      .exec(insert, id, jobId, slot, status, checkAt ?? null, sessionId ?? null, JSON.stringify(run))
      .toArray()
    if (rows.length && isOpen(run)) this.#openCount = openCount + 1
    if (rows.length) this.#prune()
    return rows.length > 0
  }

  get(id: string): JobRun | undefined {
    return this.#sql.exec<RunBody>('SELECT body FROM job_run WHERE id = ?', id).toArray().map(runOf)[0]
  }

  hasSlot(job: string, slot: number): boolean {
    return this.#sql.exec('SELECT 1 FROM job_run WHERE job = ? AND slot = ?', job, slot).toArray().length > 0
  }

  /** Returns the run while it is open. */
  getOpen(id: string): OpenRun | undefined {
    const run = this.get(id)
    return run && isOpen(run) ? run : undefined
  }

  findOpenOfJob(job: string): OpenRun | undefined {
    const query = 'SELECT body FROM job_run WHERE job = ? AND check_at IS NOT NULL LIMIT 1'
    return this.#sql.exec<RunBody>(query, job).toArray().map(runOf).find(isOpen)
  }

  findOpenOfSession(session: string): OpenRun | undefined {
    const query = 'SELECT body FROM job_run WHERE check_at IS NOT NULL AND session = ?'
    return this.#sql.exec<RunBody>(query, session).toArray().map(runOf).find(isOpen)
  }

  /** Newest first, older than the run with the position `before`. */
  list(
    job: string,
    limit: number,
    before = Number.MAX_SAFE_INTEGER,
  ): readonly { readonly n: number; readonly run: JobRun }[] {
    return this.#sql
      .exec<RunBody & { n: number }>(
        'SELECT n, body FROM job_run WHERE job = ? AND n < ? ORDER BY n DESC LIMIT ?',
        job,
        before,
        limit,
      )
      .toArray()
      .map((raw) => ({ n: raw.n, run: runOf(raw) }))
  }

  /** Changes an open run. */
  update(run: OpenRun, checkAt: number): void {
    this.#sql.exec(
      'UPDATE job_run SET status = ?, check_at = ?, body = ? WHERE id = ? AND check_at IS NOT NULL',
      run.status,
      checkAt,
      JSON.stringify(run),
      run.id,
    )
  }

  postpone(id: string, checkAt: number): void {
    this.#sql.exec('UPDATE job_run SET check_at = ? WHERE id = ? AND check_at IS NOT NULL', checkAt, id)
  }

  /** Ends an open run. False when it has ended before: the first end counts. */
  end(run: EndedRun): boolean {
    const openCount = this.countOpen()
    const query =
      'UPDATE job_run SET status = ?, check_at = NULL, body = ? WHERE id = ? AND check_at IS NOT NULL RETURNING n'
    const hasEnded = this.#sql.exec(query, run.status, JSON.stringify(run), run.id).toArray().length > 0
    if (hasEnded) this.#openCount = openCount - 1
    return hasEnded
  }

  /** Changes the record of a run that has ended. */
  annotate(id: string, change: Pick<JobRun, 'deliveryError'>): void {
    const run = this.get(id)
    if (run) this.#sql.exec('UPDATE job_run SET body = ? WHERE id = ?', JSON.stringify({ ...run, ...change }), id)
  }

  countOpen(): number {
    const query = 'SELECT count(*) AS n FROM job_run WHERE check_at IS NOT NULL'
    return (this.#openCount ??= this.#sql.exec<{ n: number }>(query).one().n)
  }

  listDue(now: number, limit: number): readonly OpenRun[] {
    const query = 'SELECT body FROM job_run WHERE check_at <= ? ORDER BY check_at LIMIT ?'
    return this.#sql.exec<RunBody>(query, now, limit).toArray().map(runOf).filter(isOpen)
  }

  firstCheckAt(): number | undefined {
    const query = 'SELECT check_at AS at FROM job_run WHERE check_at IS NOT NULL ORDER BY check_at LIMIT 1'
    return this.#sql.exec<{ at: number }>(query).toArray()[0]?.at
  }

  removeOfJob(job: string): void {
    this.#openCount = undefined
    this.#sql.exec('DELETE FROM job_run WHERE job = ?', job)
  }

  #prune(): void {
    this.#sincePrune += 1
    if (this.#sincePrune < pruneEvery) return
    this.#sincePrune = 0
    this.#sql.exec(
      `DELETE FROM job_run WHERE check_at IS NULL AND n <= (SELECT n FROM job_run WHERE check_at IS NULL
        ORDER BY n DESC LIMIT 1 OFFSET ?) AND EXISTS (SELECT 1 FROM job_run AS newer WHERE newer.job = job_run.job
        AND newer.slot > job_run.slot)`,
      maxEnded,
    )
  }
}
