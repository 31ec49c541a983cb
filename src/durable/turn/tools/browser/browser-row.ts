/** Stores what a session knows about its browser: one row, which outlasts evictions. */

import type { BrowserState } from '#agent/core/browser/browser-state.ts'

const schema = 'CREATE TABLE IF NOT EXISTS browser (id INTEGER PRIMARY KEY CHECK (id = 1), body TEXT NOT NULL)'

export class BrowserRow {
  readonly #sql: SqlStorage
  #hasTable: boolean
  #cache: { readonly state: BrowserState | undefined } | undefined

  /** `hasTable`: the table existed when the Durable Object started. */
  constructor(sql: SqlStorage, hasTable: boolean) {
    this.#sql = sql
    this.#hasTable = hasTable
  }

  get(): BrowserState | undefined {
    this.#cache ??= { state: this.#hasTable ? this.#read() : undefined }
    return this.#cache.state
  }

  put(state: BrowserState): void {
    if (!this.#hasTable) this.#sql.exec(schema)
    this.#hasTable = true
    this.#cache = { state }
    this.#sql.exec(
      'INSERT INTO browser VALUES (1, ?) ON CONFLICT DO UPDATE SET body = excluded.body',
      JSON.stringify(state),
    )
  }

  #read(): BrowserState | undefined {
    const [row] = this.#sql.exec<{ body: string }>('SELECT body FROM browser').toArray()
    return row && (JSON.parse(row.body) as BrowserState)
  }
}
