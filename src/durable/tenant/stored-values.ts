/** Stores single JSON values of a tenant by name: what is one document and not a table of rows. */

const schema = 'CREATE TABLE IF NOT EXISTS kept (name TEXT PRIMARY KEY, body TEXT NOT NULL) WITHOUT ROWID'

export class StoredValues {
  readonly #sql: SqlStorage

  constructor(sql: SqlStorage) {
    this.#sql = sql
    sql.exec(schema)
  }

  get<T>(name: string): T | undefined {
    const [row] = this.#sql.exec<{ body: string }>('SELECT body FROM kept WHERE name = ?', name).toArray()
    return row && (JSON.parse(row.body) as T)
  }

  set(name: string, value: unknown): void {
    this.#sql.exec(
      'INSERT INTO kept VALUES (?, ?) ON CONFLICT DO UPDATE SET body = excluded.body',
      name,
      JSON.stringify(value),
    )
  }
}
