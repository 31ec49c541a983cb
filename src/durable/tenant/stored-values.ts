/**
 * Stores single JSON values of a tenant by name: what is one document and not a table of rows. One of them is the version
 * of the code that writes.
 */

import { type SchemaVersion, schemaVersion } from '#durable/platform/schema-version.ts'

const schemaName = 'schema'
const schema = 'CREATE TABLE IF NOT EXISTS kept (name TEXT PRIMARY KEY, body TEXT NOT NULL) WITHOUT ROWID'

export class StoredValues {
  readonly #sql: SqlStorage
  #isVersioned: boolean

  constructor(sql: SqlStorage) {
    this.#sql = sql
    sql.exec(schema)
    this.#isVersioned = this.schema?.version === schemaVersion.version
  }

  /** The version of the code that wrote the tenant. Undefined for an empty object, and for the first version. */
  get schema(): SchemaVersion | undefined {
    return this.get(schemaName)
  }

  get<T>(name: string): T | undefined {
    const [row] = this.#sql.exec<{ body: string }>('SELECT body FROM kept WHERE name = ?', name).toArray()
    return row && (JSON.parse(row.body) as T)
  }

  set(name: string, value: unknown): void {
    // An object that stores nothing stays empty.
    if (!this.#isVersioned) this.#write(schemaName, schemaVersion)
    this.#isVersioned = true
    this.#write(name, value)
  }

  #write(name: string, value: unknown): void {
    this.#sql.exec(
      'INSERT INTO kept VALUES (?, ?) ON CONFLICT DO UPDATE SET body = excluded.body',
      name,
      JSON.stringify(value),
    )
  }
}
