/** Stores the entries of memory with their versions, the writes that wait for a person, and the answers to recent changes. */

import { hash53 } from '#agent/core/hash53.ts'
import type { MemoryResult, MemoryTarget, PendingMemory } from '#agent/core/recall/memory.ts'
import type { EntryOrigin, KnownEntry } from './memory.ts'

/** An answer is kept so that a repeated change is answered as before. */
const maxAnswers = 200
/** Entries are small: a tenant with so many people has about 14 MB of profiles. */
export const maxProfiles = 10_000
export const maxPending = 100
/** Of each store. */
const maxVersions = 50

const schema = [
  'CREATE TABLE IF NOT EXISTS memory (name TEXT PRIMARY KEY, entries TEXT NOT NULL) WITHOUT ROWID',
  'CREATE TABLE IF NOT EXISTS memory_pending (n INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, body TEXT NOT NULL)',
  'CREATE TABLE IF NOT EXISTS memory_clean (name TEXT PRIMARY KEY, hashes TEXT NOT NULL) WITHOUT ROWID',
  `CREATE TABLE IF NOT EXISTS memory_version (n INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, at INTEGER NOT NULL,
    body TEXT NOT NULL)`,
  'CREATE INDEX IF NOT EXISTS memory_version_name ON memory_version (name, n)',
  'CREATE TABLE IF NOT EXISTS memory_answer (n INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, body TEXT NOT NULL)',
]

type VersionBody = Pick<EntryOrigin, 'by' | 'sessionId'> & { readonly entries: readonly KnownEntry[] }
export type StoredVersion = VersionBody & { readonly n: number; readonly at: number }

/** One store: the memory of the tenant or of a project, which `owner` names, or the profile of a person. */
export type StoreName = { readonly target: MemoryTarget; readonly owner?: string | undefined }

const memoryRow = 'memory'
const prefixes = { user: 'user:', project: 'project:' } as const

const rowOf = ({ target, owner }: StoreName): string =>
  target === 'memory' ? memoryRow : `${prefixes[target]}${owner ?? ''}`

export class MemoryRows {
  readonly #storage: SqlStorage
  #hasTables = false

  constructor(sql: SqlStorage) {
    this.#storage = sql
  }

  entries(store: StoreName): readonly string[] {
    const query = 'SELECT entries FROM memory WHERE name = ?'
    const [row] = this.#sql.exec<{ entries: string }>(query, rowOf(store)).toArray()
    return row ? (JSON.parse(row.entries) as string[]) : []
  }

  /** Whether others may have written an entry. Entries that are older than marks count as foreign. */
  isForeign(store: StoreName): boolean {
    const clean = this.#cleanHashes(store)
    return this.entries(store).some((entry) => !clean.has(hash53(entry)))
  }

  #cleanHashes(store: StoreName): ReadonlySet<number> {
    const query = 'SELECT hashes FROM memory_clean WHERE name = ?'
    const [row] = this.#sql.exec<{ hashes: string }>(query, rowOf(store)).toArray()
    return new Set(row ? (JSON.parse(row.hashes) as number[]) : [])
  }

  /** The entries with what the last version knows of them. */
  known(store: StoreName): readonly KnownEntry[] {
    const known = new Map(this.versions(store, 1).flatMap(({ entries }) => entries.map((one) => [one.text, one])))
    const clean = this.#cleanHashes(store)
    return this.entries(store).map((text) => {
      const { isForeign: _was, ...entry } = known.get(text) ?? { text }
      return { ...entry, ...(!clean.has(hash53(text)) && { isForeign: true }) }
    })
  }

  /** `fresh` describes the entries that are new. */
  write(store: StoreName, texts: readonly string[], fresh: Omit<KnownEntry, 'text'>): void {
    const before = this.known(store)
    const entries = texts.map((text) => before.find((one) => one.text === text) ?? { text, ...fresh })
    this.record(store, entries, fresh)
  }

  /** Stores entries as a new version. */
  record(store: StoreName, entries: readonly KnownEntry[], by: EntryOrigin): void {
    const before = this.known(store)
    // Entries from before versions were kept can be restored too.
    if (before.length && !this.versions(store).length) this.#addVersion(store, before, {})
    this.replace(store, entries)
    this.#addVersion(store, entries, by)
  }

  /** Stores entries without a version. */
  replace(store: StoreName, entries: readonly KnownEntry[]): void {
    const name = rowOf(store)
    const hashes = entries.flatMap(({ text, isForeign }) => (isForeign ? [] : [hash53(text)]))
    this.#sql.exec('INSERT OR REPLACE INTO memory_clean VALUES (?, ?)', name, JSON.stringify(hashes))
    if (!entries.length) this.#sql.exec('DELETE FROM memory WHERE name = ?', name)
    else
      this.#sql.exec(
        'INSERT INTO memory VALUES (?, ?) ON CONFLICT DO UPDATE SET entries = excluded.entries',
        name,
        JSON.stringify(entries.map(({ text }) => text)),
      )
  }

  #addVersion(store: StoreName, entries: readonly KnownEntry[], { at = 0, by, sessionId }: EntryOrigin): void {
    const name = rowOf(store)
    const body = JSON.stringify({ by, sessionId, entries })
    this.#sql.exec('INSERT INTO memory_version (name, at, body) VALUES (?, ?, ?)', name, at, body)
    const old = 'SELECT n FROM memory_version WHERE name = ? ORDER BY n DESC LIMIT 1 OFFSET ?'
    this.#sql.exec(`DELETE FROM memory_version WHERE name = ? AND n <= (${old})`, name, name, maxVersions)
  }

  /** Newest first. */
  versions(store: StoreName, limit = maxVersions): readonly StoredVersion[] {
    const query = 'SELECT n, at, body FROM memory_version WHERE name = ? ORDER BY n DESC LIMIT ?'
    const rows = this.#sql.exec<{ n: number; at: number; body: string }>(query, rowOf(store), limit).toArray()
    return rows.map(({ n, at, body }) => ({ n, at, ...(JSON.parse(body) as VersionBody) }))
  }

  /** Replaces the entries of one version. */
  rewriteVersion({ n, by, sessionId, entries }: StoredVersion): void {
    const body = JSON.stringify({ by, sessionId, entries })
    this.#sql.exec('UPDATE memory_version SET body = ? WHERE n = ?', body, n)
  }

  /** Forgets the answers to changes, which show entries. */
  clearAnswers(): void {
    this.#sql.exec('DELETE FROM memory_answer')
  }

  /** The people who have a profile, or the projects that have entries. */
  owners(target: keyof typeof prefixes = 'user', table: 'memory' | 'memory_version' = 'memory'): readonly string[] {
    const prefix = prefixes[target]
    const query = `SELECT DISTINCT name FROM ${table} WHERE name > ? AND name < ?`
    const rows = this.#sql.exec<{ name: string }>(query, prefix, `${prefix}\uffff`).toArray()
    return rows.map(({ name }) => name.slice(prefix.length))
  }

  /** Removes a store with its versions, the writes that wait for it and the answers that show it. */
  remove(store: StoreName): void {
    for (const table of ['memory', 'memory_clean', 'memory_version'])
      this.#sql.exec(`DELETE FROM ${table} WHERE name = ?`, rowOf(store))
    for (const { id, target, owner } of this.pending())
      if (target === store.target && owner === store.owner) this.removePending(id)
    this.clearAnswers()
  }

  pending(): readonly PendingMemory[] {
    const rows = this.#sql.exec<{ body: string }>('SELECT body FROM memory_pending ORDER BY n').toArray()
    return rows.map(({ body }) => JSON.parse(body) as PendingMemory)
  }

  addPending(one: PendingMemory): void {
    this.#sql.exec('INSERT INTO memory_pending (id, body) VALUES (?, ?)', one.id, JSON.stringify(one))
  }

  removePending(id: string): void {
    this.#sql.exec('DELETE FROM memory_pending WHERE id = ?', id)
  }

  answer(key: string): MemoryResult | undefined {
    const [row] = this.#sql.exec<{ body: string }>('SELECT body FROM memory_answer WHERE key = ?', key).toArray()
    return row && (JSON.parse(row.body) as MemoryResult)
  }

  keepAnswer(key: string, result: MemoryResult): void {
    this.#sql.exec('INSERT OR REPLACE INTO memory_answer (key, body) VALUES (?, ?)', key, JSON.stringify(result))
    this.#sql.exec('DELETE FROM memory_answer WHERE n <= (SELECT max(n) FROM memory_answer) - ?', maxAnswers)
  }

  /** Creates the tables at the first use: many tenants never remember anything. */
  get #sql(): SqlStorage {
    if (!this.#hasTables) for (const statement of schema) this.#storage.exec(statement)
    this.#hasTables = true
    return this.#storage
  }
}
