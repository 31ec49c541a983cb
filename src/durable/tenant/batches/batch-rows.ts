/** Stores batches and their prompts. The counts and the money of a batch change in the same write as its prompts. */

import type { Batch, BatchItem, ItemStatus } from './batch.ts'

const schema = [
  'CREATE TABLE IF NOT EXISTS batch (n INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, active INTEGER NOT NULL, body TEXT NOT NULL)',
  `CREATE TABLE IF NOT EXISTS batch_item (batch TEXT NOT NULL, n INTEGER NOT NULL, status TEXT NOT NULL, check_at INTEGER,
    body TEXT NOT NULL, PRIMARY KEY (batch, n)) WITHOUT ROWID`,
  'CREATE INDEX IF NOT EXISTS batch_item_due ON batch_item(check_at) WHERE check_at IS NOT NULL',
  "CREATE INDEX IF NOT EXISTS batch_item_pending ON batch_item(batch, n) WHERE status = 'pending'",
]

type Body = { body: string }
const batchIn = ({ body }: Body) => JSON.parse(body) as Batch
const itemIn = ({ body }: Body) => JSON.parse(body) as BatchItem

export class BatchRows {
  readonly #sql: SqlStorage

  constructor(sql: SqlStorage) {
    this.#sql = sql
    for (const statement of schema) sql.exec(statement)
  }

  add(batch: Batch, items: readonly BatchItem[]): void {
    this.#sql.exec('INSERT INTO batch (id, active, body) VALUES (?, 1, ?)', batch.id, JSON.stringify(batch))
    for (const item of items)
      this.#sql.exec(
        'INSERT INTO batch_item VALUES (?, ?, ?, NULL, ?)',
        item.batch,
        item.n,
        item.status,
        JSON.stringify(item),
      )
  }

  put(batch: Batch): void {
    const isActive = batch.status === 'running' || batch.counts.running > 0
    this.#sql.exec(
      'UPDATE batch SET active = ?, body = ? WHERE id = ?',
      Number(isActive),
      JSON.stringify(batch),
      batch.id,
    )
  }

  get(id: string): Batch | undefined {
    return this.#sql.exec<Body>('SELECT body FROM batch WHERE id = ?', id).toArray().map(batchIn)[0]
  }

  count(): number {
    return this.#sql.exec<{ n: number }>('SELECT count(*) AS n FROM batch').one().n
  }

  /** Newest first, older than the one with the position `before`. */
  list(limit: number, before = Number.MAX_SAFE_INTEGER): readonly { readonly n: number; readonly batch: Batch }[] {
    return this.#sql
      .exec<Body & { n: number }>('SELECT n, body FROM batch WHERE n < ? ORDER BY n DESC LIMIT ?', before, limit)
      .toArray()
      .map((row) => ({ n: row.n, batch: batchIn(row) }))
  }

  listActive(): readonly Batch[] {
    return this.#sql.exec<Body>('SELECT body FROM batch WHERE active = 1 ORDER BY n').toArray().map(batchIn)
  }

  remove(id: string): void {
    this.#sql.exec('DELETE FROM batch_item WHERE batch = ?', id)
    this.#sql.exec('DELETE FROM batch WHERE id = ?', id)
  }

  item(batch: string, n: number): BatchItem | undefined {
    return this.#sql
      .exec<Body>('SELECT body FROM batch_item WHERE batch = ? AND n = ?', batch, n)
      .toArray()
      .map(itemIn)[0]
  }

  /** In their order, behind the one with the number `after`. */
  items(batch: string, after: number, limit: number): readonly BatchItem[] {
    const query = 'SELECT body FROM batch_item WHERE batch = ? AND n > ? ORDER BY n LIMIT ?'
    return this.#sql.exec<Body>(query, batch, after, limit).toArray().map(itemIn)
  }

  firstPending(batch: string): BatchItem | undefined {
    const query = "SELECT body FROM batch_item WHERE batch = ? AND status = 'pending' ORDER BY n LIMIT 1"
    return this.#sql.exec<Body>(query, batch).toArray().map(itemIn)[0]
  }

  listWith(batch: string, statuses: readonly ItemStatus[]): readonly BatchItem[] {
    const query = `SELECT body FROM batch_item WHERE batch = ? AND status IN (${statuses.map(() => '?').join(', ')})`
    return this.#sql
      .exec<Body>(query, batch, ...statuses)
      .toArray()
      .map(itemIn)
  }

  listDue(now: number): readonly BatchItem[] {
    return this.#sql.exec<Body>('SELECT body FROM batch_item WHERE check_at <= ?', now).toArray().map(itemIn)
  }

  firstCheckAt(): number | undefined {
    const query = 'SELECT check_at AS at FROM batch_item WHERE check_at IS NOT NULL ORDER BY check_at LIMIT 1'
    return this.#sql.exec<{ at: number }>(query).toArray()[0]?.at
  }

  /** `checkAt`: when to look after it; undefined for one that does not run. */
  putItem(item: BatchItem, checkAt: number | undefined): void {
    const change = 'UPDATE batch_item SET status = ?, check_at = ?, body = ? WHERE batch = ? AND n = ?'
    this.#sql.exec(change, item.status, checkAt ?? null, JSON.stringify(item), item.batch, item.n)
  }

  postpone({ batch, n }: BatchItem, checkAt: number): void {
    const change = 'UPDATE batch_item SET check_at = ? WHERE batch = ? AND n = ? AND check_at IS NOT NULL'
    this.#sql.exec(change, checkAt, batch, n)
  }
}
