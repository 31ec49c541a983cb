/** Stores descriptions of images by their hash, so that an image is described once for all sessions of the tenant. */

import type { Authority } from '#agent/core/permission/authority.ts'
import { type ChangeCheck, TenantPart } from './tenant-part.ts'

/** The oldest descriptions are deleted. An image that comes again is described again. */
const maxDescriptions = 1_000
const maxDescriptionChars = 8_000
/** The most that one request may ask for. */
const maxHashes = 100

export class TenantImageDescriptions extends TenantPart {
  readonly #sql: SqlStorage

  constructor(mayChange: ChangeCheck, sql: SqlStorage) {
    super(mayChange)
    this.#sql = sql
    sql.exec(
      'CREATE TABLE IF NOT EXISTS image_description (num INTEGER PRIMARY KEY, hash TEXT UNIQUE, text TEXT NOT NULL)',
    )
  }

  /** Returns the known descriptions by hash. */
  find(authority: Authority, hashes: readonly string[]): Readonly<Record<string, string>> {
    this.requireOwn(authority)
    const rows = this.#sql.exec<{ hash: string; text: string }>(
      'SELECT hash, text FROM image_description WHERE hash IN (SELECT value FROM json_each(?))',
      JSON.stringify(hashes.slice(0, maxHashes)),
    )
    return Object.fromEntries([...rows].map(({ hash, text }) => [hash, text]))
  }

  /** Stores a description. The first one of an image stays, so that prompts repeat the same bytes. */
  add(authority: Authority, hash: string, text: string): void {
    this.requireOwn(authority)
    const description = text.slice(0, maxDescriptionChars)
    this.#sql.exec('INSERT OR IGNORE INTO image_description(hash, text) VALUES (?, ?)', hash, description)
    const kept = 'SELECT max(num) - ? FROM image_description'
    this.#sql.exec(`DELETE FROM image_description WHERE num <= (${kept})`, maxDescriptions)
  }
}
