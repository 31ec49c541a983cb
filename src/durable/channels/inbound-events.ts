/**
 * Stores the keys of inbound events, so that each event counts once however often the platform delivers it, and the
 * messages that are held for a moment, because the person may be writing another one.
 */

/** `said` is the message as JSON while it is held. */
const schema = 'CREATE TABLE IF NOT EXISTS heard (key TEXT PRIMARY KEY, at INTEGER NOT NULL, said TEXT) WITHOUT ROWID'
/** Platforms repeat deliveries for up to a few days. */
const retentionMs = 5 * 86_400_000

/** A message that is held, and when it is let go. */
export type HeldMessage = { readonly key: string; readonly until: number; readonly body: string }

type Row = { readonly key: string; readonly said: string }

export class InboundEvents {
  readonly #sql: SqlStorage
  #hasTable: boolean
  #isPruned = false
  /** Cache of the table; undefined: not read yet. */
  #held: readonly HeldMessage[] | undefined

  /** `exists`: the table was there when the object started. */
  constructor(sql: SqlStorage, exists: boolean) {
    this.#sql = sql
    this.#hasTable = exists
  }

  has(key: string): boolean {
    return this.#hasTable && this.#sql.exec('SELECT 1 FROM heard WHERE key = ?', key).toArray().length > 0
  }

  /** Called in the write that stores the effect of the event. */
  record(key: string, at: number): void {
    this.#insert(key, at, null)
  }

  /** Stores a message that takes effect later. */
  hold(message: HeldMessage, at: number): void {
    this.#insert(message.key, at, JSON.stringify({ until: message.until, body: message.body }))
    this.#held = undefined
  }

  replaceHeld({ key, until, body }: HeldMessage): void {
    this.#sql.exec('UPDATE heard SET said = ? WHERE key = ?', JSON.stringify({ until, body }), key)
    this.#held = undefined
  }

  /** The held messages in the order of their arrival. */
  held(): readonly HeldMessage[] {
    if (!this.#hasTable) return []
    const query = "SELECT key, said FROM heard WHERE said LIKE '{%' ORDER BY at, key"
    return (this.#held ??= this.#sql
      .exec<Row>(query)
      .toArray()
      .map(({ key, said }) => ({ ...(JSON.parse(said) as Omit<HeldMessage, 'key'>), key })))
  }

  /** When the held messages are let go: with the last one of a burst. */
  getNextWake(): number | undefined {
    const held = this.held()
    return held.length ? Math.max(...held.map(({ until }) => until)) : undefined
  }

  /** Called in the write that stores the effect of the messages. */
  release(keys: readonly string[]): void {
    for (const key of keys) this.#sql.exec('UPDATE heard SET said = NULL WHERE key = ?', key)
    this.#held = undefined
  }

  #insert(key: string, at: number, said: string | null): void {
    if (!this.#hasTable) this.#sql.exec(schema)
    this.#hasTable = true
    if (!this.#isPruned) this.#sql.exec('DELETE FROM heard WHERE at < ? AND said IS NULL', at - retentionMs)
    this.#isPruned = true
    this.#sql.exec('INSERT INTO heard VALUES (?, ?, ?)', key, at, said)
  }
}
