/**
 * Stores the keys of inbound events, so that each event counts once however often the platform delivers it, and the
 * texts of unaddressed messages until the next turn of the group takes them.
 */

const schema = 'CREATE TABLE IF NOT EXISTS heard (key TEXT PRIMARY KEY, at INTEGER NOT NULL, said TEXT) WITHOUT ROWID'
/** Platforms repeat deliveries for up to a few days. */
const retentionMs = 5 * 86_400_000
const maxUnaddressed = 50
const maxTextChars = 1_000

export class InboundEvents {
  readonly #sql: SqlStorage
  #hasTable: boolean
  #isPruned = false

  /** `exists`: the table was there when the object started. */
  constructor(sql: SqlStorage, exists: boolean) {
    this.#sql = sql
    this.#hasTable = exists
  }

  has(key: string): boolean {
    return this.#hasTable && this.#sql.exec('SELECT 1 FROM heard WHERE key = ?', key).toArray().length > 0
  }

  /** Called in the write that stores the effect of the event. `unaddressed`: the text of an unaddressed message. */
  record(key: string, at: number, unaddressed: string | null = null): void {
    if (!this.#hasTable) this.#sql.exec(schema)
    this.#hasTable = true
    if (!this.#isPruned) this.#sql.exec('DELETE FROM heard WHERE at < ?', at - retentionMs)
    this.#isPruned = true
    this.#sql.exec('INSERT INTO heard VALUES (?, ?, ?)', key, at, unaddressed && unaddressed.slice(0, maxTextChars))
  }

  /** Returns the newest unaddressed messages, oldest first, and removes the texts of all of them. */
  takeUnaddressed(): readonly string[] {
    if (!this.#hasTable) return []
    const rows = this.#sql
      .exec<{ said: string }>('SELECT said FROM heard WHERE said IS NOT NULL ORDER BY at, key')
      .toArray()
    if (rows.length) this.#sql.exec('UPDATE heard SET said = NULL WHERE said IS NOT NULL')
    return rows.slice(-maxUnaddressed).map(({ said }) => said)
  }
}
