/** Records the scripts of a job's run, so that none of them runs twice. */

import type { ScriptOutcome } from '#durable/tenant/jobs/session-port.ts'

export type StoredScript = { readonly kind: 'begun' } | { readonly kind: 'known'; readonly outcome: ScriptOutcome }

const schema = 'CREATE TABLE IF NOT EXISTS job_script (key TEXT PRIMARY KEY, outcome TEXT) WITHOUT ROWID'

export class ScriptRows {
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
