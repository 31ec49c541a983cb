/**
 * Defines a tenant's object with one additional part, as docs/design/tenant.md describes it: jobs with a table and a
 * due time.
 */

import { RpcTarget } from 'cloudflare:workers'
import type { ScheduledPart, ScheduledParts } from '#durable/platform/part-schedule.ts'
import { TenantDO } from '#durable/tenant/tenant-object.ts'

type Job = { readonly name: string; readonly at: number }

const schema = [
  'CREATE TABLE IF NOT EXISTS fake_jobs (name TEXT PRIMARY KEY, at INTEGER NOT NULL) WITHOUT ROWID',
  'CREATE TABLE IF NOT EXISTS fake_runs (id INTEGER PRIMARY KEY, name TEXT NOT NULL)',
]

class FakeJobs extends RpcTarget implements ScheduledPart {
  readonly #sql: SqlStorage
  readonly #armAlarm: () => void

  constructor(sql: SqlStorage, armAlarm: () => void) {
    super()
    this.#sql = sql
    this.#armAlarm = armAlarm
    for (const statement of schema) sql.exec(statement)
  }

  create({ name, at }: Job): void {
    this.#sql.exec('INSERT INTO fake_jobs VALUES (?, ?)', name, at)
    this.#armAlarm()
  }

  delete(name: string): void {
    this.#sql.exec('DELETE FROM fake_jobs WHERE name = ?', name)
    this.#armAlarm()
  }

  listRuns(): string[] {
    const rows = this.#sql.exec<{ name: string }>('SELECT name FROM fake_runs ORDER BY id').toArray()
    return rows.map(({ name }) => name)
  }

  wakeAt(): number | undefined {
    return this.#sql.exec<{ at: number | null }>('SELECT min(at) AS at FROM fake_jobs').one().at ?? undefined
  }

  /** Runs the due jobs. A job whose name begins with "broken" fails and stays. */
  wake(now: number): void {
    const due = this.#sql.exec<Job>('SELECT name, at FROM fake_jobs WHERE at <= ? ORDER BY at', now).toArray()
    for (const { name } of due) {
      if (name.startsWith('broken')) throw new Error(`The job ${name} failed.`)
      this.#sql.exec('INSERT INTO fake_runs (name) VALUES (?)', name)
      this.#sql.exec('DELETE FROM fake_jobs WHERE name = ?', name)
    }
  }
}

export class TenantWithJobs extends TenantDO {
  readonly #fakeJobs = new FakeJobs(this.ctx.storage.sql, () => this.armAlarm())

  get fakeJobs(): FakeJobs {
    return this.#fakeJobs
  }

  protected override get scheduledParts(): ScheduledParts {
    return { fakeJobs: this.#fakeJobs }
  }
}
