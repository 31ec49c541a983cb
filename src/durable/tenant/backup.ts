/** The part of the tenant's object that backs up its tables and restores them into the object of an empty tenant. */

import type { Authority } from '#agent/core/permission/authority.ts'
import { sha256Hex } from '#durable/platform/hash.ts'
import { textStream } from '#durable/platform/byte-stream.ts'
import { dumpTables, loadTables } from '#durable/platform/table-dump.ts'
import { type ChangeCheck, TenantPart } from './tenant-part.ts'

/** Tables that a restored tenant does not need: their rows are transient, or are made again. */
const transient = new Set([
  'active',
  'audit_outbox',
  'browser',
  'busy',
  'claim',
  'claimed_delivery',
  'conversation',
  'image_description',
  'open_run',
  'pairing_guesses',
  'recall_queue',
  'recall_session',
  'recall_vector',
  'restored',
  'shared_bytes',
  'stored',
  'tenant_deletion',
  'unattended',
  'waiting',
  'watcher',
])

/** A tenant with rows in one of these is in use. */
const telling = ['batch', 'job', 'memory', 'project', 'skill']

/** The hash of what was restored: a restore that was interrupted repeats its last part. */
const createRestored = 'CREATE TABLE IF NOT EXISTS restored (hash TEXT PRIMARY KEY)'

const maxStateBytes = 64 * 2 ** 20

export type TenantBackupOptions = {
  readonly mayChange: ChangeCheck
  readonly storage: DurableObjectStorage
  /** Called when the tables were replaced: values in memory are stale. */
  readonly restart: () => void
}

export class TenantBackup extends TenantPart {
  readonly #options: TenantBackupOptions

  constructor(options: TenantBackupOptions) {
    super(options.mayChange)
    this.#options = options
  }

  /** Lines for `write`. */
  read(authority: Authority): ReadableStream<Uint8Array> {
    this.requireOwn(authority, 'admin')
    return textStream(this.#lines())
  }

  /** One state of all tables: they are small, and nothing changes between two rows. */
  async *#lines(): AsyncGenerator<string> {
    for (const line of Array.from(dumpTables(this.#options.storage.sql, transient))) yield line
  }

  /** Replaces the tables, all or none. A repetition changes nothing. Returns false when the tenant is in use. */
  async write(authority: Authority, lines: ReadableStream<Uint8Array>): Promise<boolean> {
    const { storage, restart } = this.#options
    this.requireOwn(authority, 'admin')
    const text = await readLimited(lines)
    const hash = await sha256Hex(text)
    if (this.#has('restored', 'hash = ?', hash)) return true
    if (telling.some((name) => this.#has(name))) return false
    storage.transactionSync(() => {
      loadTables(storage.sql, text.split('\n').filter(Boolean))
      storage.sql.exec(createRestored)
      storage.sql.exec('INSERT INTO restored (hash) VALUES (?)', hash)
    })
    restart()
    return true
  }

  /** Whether the table exists and has such a row. */
  #has(table: string, condition = 'true', ...values: readonly string[]): boolean {
    const { sql } = this.#options.storage
    const isThere = (query: string, ...bound: readonly string[]) => sql.exec(query, ...bound).toArray().length > 0
    if (!isThere("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", table)) return false
    return isThere(`SELECT 1 FROM ${table} WHERE ${condition} LIMIT 1`, ...values)
  }
}

async function readLimited(lines: ReadableStream<Uint8Array>): Promise<string> {
  let text = ''
  for await (const part of lines.pipeThrough(new TextDecoderStream())) {
    text += part
    if (text.length > maxStateBytes) throw new Error('The state of the tenant is too large.')
  }
  return text
}
