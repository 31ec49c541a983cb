/** Stores the jobs of a tenant, one row each, with an index by the time at which each comes due. */

import type { Job } from '#agent/schedule/job/job.ts'

/** `at`: when something has to be done with the job. Undefined while it is paused. */
export type JobRow = { readonly n: number; readonly at: number | undefined; readonly job: Job }

const schema = [
  `CREATE TABLE IF NOT EXISTS job (n INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, name TEXT NOT NULL,
    at INTEGER, body TEXT NOT NULL)`,
  'CREATE INDEX IF NOT EXISTS job_due ON job(at) WHERE at IS NOT NULL',
  'CREATE INDEX IF NOT EXISTS job_name ON job(name)',
]

type JobBody = { n: number; at: number | null; body: string }
const rowOf = ({ n, at, body }: JobBody): JobRow => ({ n, at: at ?? undefined, job: JSON.parse(body) as Job })

export class JobRows {
  readonly #sql: SqlStorage
  #count: number | undefined

  constructor(sql: SqlStorage) {
    this.#sql = sql
    for (const statement of schema) sql.exec(statement)
  }

  /** Counted once for each life of the object. */
  count(): number {
    return (this.#count ??= this.#sql.exec<{ n: number }>('SELECT count(*) AS n FROM job').one().n)
  }

  get(id: string): JobRow | undefined {
    return this.#sql.exec<JobBody>('SELECT n, at, body FROM job WHERE id = ?', id).toArray().map(rowOf)[0]
  }

  findByName(name: string): JobRow | undefined {
    return this.#sql.exec<JobBody>('SELECT n, at, body FROM job WHERE name = ? LIMIT 1', name).toArray().map(rowOf)[0]
  }

  /** Newest first, older than the row `before`, of one project or of all. */
  list(limit: number, before = Number.MAX_SAFE_INTEGER, project: string | null = null): readonly JobRow[] {
    const query = `SELECT n, at, body FROM job WHERE n < ?1 AND (?2 IS NULL OR json_extract(body, '$.plan.project') = ?2)
      ORDER BY n DESC LIMIT ?3`
    return this.#sql.exec<JobBody>(query, before, project, limit).toArray().map(rowOf)
  }

  add(job: Job, at: number | undefined): void {
    const count = this.count()
    this.#sql.exec(
      'INSERT INTO job (id, name, at, body) VALUES (?, ?, ?, ?)',
      job.id,
      job.plan.name,
      at ?? null,
      JSON.stringify(job),
    )
    this.#count = count + 1
  }

  update(job: Job, at: number | undefined): void {
    const body = JSON.stringify(job)
    this.#sql.exec('UPDATE job SET name = ?, at = ?, body = ? WHERE id = ?', job.plan.name, at ?? null, body, job.id)
  }

  /** Changes the job, but not when it comes due. */
  put(job: Job): void {
    this.#sql.exec('UPDATE job SET name = ?, body = ? WHERE id = ?', job.plan.name, JSON.stringify(job), job.id)
  }

  remove(id: string): void {
    const count = this.count()
    this.#sql.exec('DELETE FROM job WHERE id = ?', id)
    this.#count = count - 1
  }

  /** The earliest first. Costs what is due, not what exists. */
  listDue(now: number, limit: number): readonly (JobRow & { readonly at: number })[] {
    const query = 'SELECT n, at, body FROM job WHERE at <= ? ORDER BY at LIMIT ?'
    return this.#sql
      .exec<JobBody & { at: number }>(query, now, limit)
      .toArray()
      .map((raw) => ({ ...rowOf(raw), at: raw.at }))
  }

  firstAt(): number | undefined {
    const [row] = this.#sql
      .exec<{ at: number }>('SELECT at FROM job WHERE at IS NOT NULL ORDER BY at LIMIT 1')
      .toArray()
    return row?.at
  }
}
