/**
 * What a chat has told this session: the keys of its events, so that none counts twice however often it is delivered,
 * and what people said in a group without meaning us, until a turn takes it along.
 */

const schema = 'CREATE TABLE IF NOT EXISTS heard (key TEXT PRIMARY KEY, at INTEGER NOT NULL, said TEXT) WITHOUT ROWID'
/** Platforms deliver again for days. */
const keptMs = 5 * 86_400_000
const mostOverheard = 50
const longest = 1_000

export class InboundEvents {
  readonly #sql: SqlStorage
  #hasTable: boolean
  #isTidy = false

  constructor(sql: SqlStorage, exists: boolean) {
    this.#sql = sql
    this.#hasTable = exists
  }

  has(key: string): boolean {
    return this.#hasTable && this.#sql.exec('SELECT 1 FROM heard WHERE key = ?', key).toArray().length > 0
  }

  /** In the stretch of code that writes what comes of it. */
  note(key: string, at: number, said: string | null = null): void {
    if (!this.#hasTable) this.#sql.exec(schema)
    this.#hasTable = true
    if (!this.#isTidy) this.#sql.exec('DELETE FROM heard WHERE at < ?', at - keptMs)
    this.#isTidy = true
    this.#sql.exec('INSERT INTO heard VALUES (?, ?, ?)', key, at, said && said.slice(0, longest))
  }

  /** Takes along what was said before. */
  overheard(): readonly string[] {
    if (!this.#hasTable) return []
    const rows = this.#sql
      .exec<{ said: string }>('SELECT said FROM heard WHERE said IS NOT NULL ORDER BY at, key')
      .toArray()
    if (rows.length) this.#sql.exec('UPDATE heard SET said = NULL WHERE said IS NOT NULL')
    return rows.slice(-mostOverheard).map(({ said }) => said)
  }
}
