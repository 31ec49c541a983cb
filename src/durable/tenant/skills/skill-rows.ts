/**
 * Stores skills in the tenant's object: a row for each skill and one for each file. Contents over 32 KiB are in R2 below
 * `t/<tenant>/skills/`, so that the deletion and the measure of a tenant's files cover them.
 */

import type { SkillContent, SkillFile, SkillHead, SkillSource, SkillVerdict } from '#agent/core/skills/skill.ts'
import { blobPrefix } from '#durable/platform/addresses.ts'
import { sha256Hex } from '#durable/platform/hash.ts'

/** The stored facts about a skill beside its files. */
export type SkillRecord = {
  readonly name: string
  readonly source: SkillSource
  readonly head: SkillHead
  readonly verdict: SkillVerdict
  readonly isPinned: boolean
  readonly archivedAt: number | undefined
  readonly hash: string
  readonly createdAt: number
  readonly updatedAt: number
  readonly usedAt: number | undefined
  /** The source of an imported skill: its address, and the name that chose it there. */
  readonly origin: SkillOrigin | undefined
  /** The model wrote it, or a part of it, after it had read what others wrote. Absent in older skills. */
  readonly isForeign?: boolean | undefined
}

/** `hash`: of what was imported. A skill with another one was changed since. */
export type SkillOrigin = { readonly url: string; readonly choice?: string | undefined; readonly hash: string }

export type StoredFile = SkillFile & { readonly blob: string | null }

type SkillRow = {
  name: string
  source: string
  body: string
  pinned: number
  archived: number | null
  used: number | null
}
type FileRow = { path: string; bytes: number; hash: string; blob: string | null }

const schema = [
  `CREATE TABLE IF NOT EXISTS skill (name TEXT PRIMARY KEY, source TEXT NOT NULL, body TEXT NOT NULL, pinned INTEGER NOT NULL,
    archived INTEGER, used INTEGER) WITHOUT ROWID`,
  `CREATE TABLE IF NOT EXISTS skill_file (skill TEXT NOT NULL, path TEXT NOT NULL, bytes INTEGER NOT NULL, hash TEXT NOT NULL,
    blob TEXT, body BLOB, PRIMARY KEY (skill, path)) WITHOUT ROWID`,
]
const maxInlineBytes = 32 * 1024

/** A file whose content is stored, in R2 or ready for a row. */
export type PlacedFile = StoredFile & { readonly body: Uint8Array | null }

export class SkillRows {
  readonly #sqlStorage: SqlStorage
  readonly #blobs: R2Bucket | undefined
  readonly #prefix: string
  #hasTables = false

  constructor(sql: SqlStorage, blobs: R2Bucket | undefined, tenantId: string) {
    this.#sqlStorage = sql
    this.#blobs = blobs
    this.#prefix = blobPrefix(tenantId, 'skills')
  }

  list(): readonly SkillRecord[] {
    if (!this.#exists()) return []
    return this.#sql
      .exec<SkillRow>('SELECT name, source, body, pinned, archived, used FROM skill')
      .toArray()
      .map(toRecord)
  }

  get(name: string): SkillRecord | undefined {
    if (!this.#exists()) return undefined
    const query = 'SELECT name, source, body, pinned, archived, used FROM skill WHERE name = ?'
    const [row] = this.#sql.exec<SkillRow>(query, name).toArray()
    return row && toRecord(row)
  }

  files(name: string): readonly StoredFile[] {
    if (!this.#exists()) return []
    const query = 'SELECT path, bytes, hash, blob FROM skill_file WHERE skill = ? ORDER BY path'
    return this.#sql.exec<FileRow>(query, name).toArray()
  }

  /** Undefined when the file does not exist, or its object in R2 is gone. */
  async read(name: string, path: string): Promise<Uint8Array | undefined> {
    if (!this.#exists()) return undefined
    const query = 'SELECT blob, body FROM skill_file WHERE skill = ? AND path = ?'
    const [row] = this.#sql.exec<{ blob: string | null; body: ArrayBuffer | null }>(query, name, path).toArray()
    if (!row) return undefined
    if (row.blob === null) return new Uint8Array(row.body ?? new ArrayBuffer())
    const object = await this.#blobs?.get(row.blob)
    return object ? new Uint8Array(await object.arrayBuffer()) : undefined
  }

  /** Stores large contents in R2. Without R2 everything goes into rows, which hold 1 MiB. */
  async place(name: string, files: readonly SkillContent[]): Promise<readonly PlacedFile[]> {
    return Promise.all(
      files.map(async ({ path, bytes }) => {
        const described = { path, bytes: bytes.byteLength, hash: await sha256Hex(bytes) }
        if (bytes.byteLength <= maxInlineBytes || !this.#blobs) return { ...described, blob: null, body: bytes }
        // A name of its own: a concurrent change never deletes what this one stores.
        const blob = `${this.#prefix}${name}/${crypto.randomUUID()}`
        await this.#blobs.put(blob, bytes)
        return { ...described, blob, body: null }
      }),
    )
  }

  /** Writes a skill with all of its files in one synchronous stretch. Returns the objects in R2 that are no longer used. */
  write(record: SkillRecord, files: readonly PlacedFile[]): readonly string[] {
    const before = this.files(record.name)
    this.update(record)
    const kept = new Set(files.map(({ path }) => path))
    for (const { path } of before.filter((one) => !kept.has(one.path)))
      this.#sql.exec('DELETE FROM skill_file WHERE skill = ? AND path = ?', record.name, path)
    for (const { path, bytes, hash, blob, body } of files)
      this.#sql.exec(
        'INSERT INTO skill_file VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET bytes = excluded.bytes, hash = excluded.hash, blob = excluded.blob, body = excluded.body',
        record.name,
        path,
        bytes,
        hash,
        blob,
        body,
      )
    const used = new Set(files.map(({ blob }) => blob))
    return before.flatMap(({ blob }) => (blob !== null && !used.has(blob) ? [blob] : []))
  }

  /** Writes what is stored about a skill, and leaves its files. */
  update({ name, source, isPinned, archivedAt, usedAt, ...body }: SkillRecord): void {
    this.#sql.exec(
      `INSERT INTO skill VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET source = excluded.source, body = excluded.body,
        pinned = excluded.pinned, archived = excluded.archived, used = excluded.used`,
      name,
      source,
      JSON.stringify(body),
      isPinned ? 1 : 0,
      archivedAt ?? null,
      usedAt ?? null,
    )
  }

  /** Returns the objects in R2 that are no longer used. */
  remove(name: string): readonly string[] {
    const blobs = this.files(name).flatMap(({ blob }) => blob ?? [])
    this.#sql.exec('DELETE FROM skill_file WHERE skill = ?', name)
    this.#sql.exec('DELETE FROM skill WHERE name = ?', name)
    return blobs
  }

  async deleteBlobs(blobs: readonly string[]): Promise<void> {
    if (blobs.length) await this.#blobs?.delete([...blobs])
  }

  /** Deletes objects in R2 that no row names and that were stored before a time. */
  async deleteUnused(before: number): Promise<void> {
    if (!this.#exists()) return
    let cursor: string | undefined
    do {
      const found = await this.#blobs?.list({ prefix: this.#prefix, ...(cursor !== undefined && { cursor }) })
      const old = (found?.objects ?? []).filter(({ uploaded }) => uploaded.getTime() < before)
      const query = 'SELECT count(*) AS n FROM skill_file WHERE blob = ?'
      const unused = old.filter(({ key }) => this.#sql.exec<{ n: number }>(query, key).one().n === 0)
      await this.deleteBlobs(unused.map(({ key }) => key))
      cursor = found?.truncated ? found.cursor : undefined
    } while (cursor !== undefined)
  }

  /** Bytes in rows of this object. What is in R2 is measured there. */
  storedBytes(): number {
    if (!this.#exists()) return 0
    return (
      this.#sql.exec<{ n: number | null }>('SELECT sum(bytes) AS n FROM skill_file WHERE blob IS NULL').one().n ?? 0
    )
  }

  /** Most tenants have no skills of their own, and no tables for them. */
  #exists(): boolean {
    if (this.#hasTables) return true
    const query = "SELECT count(*) AS n FROM sqlite_master WHERE name = 'skill_file'"
    this.#hasTables = this.#sqlStorage.exec<{ n: number }>(query).one().n > 0
    return this.#hasTables
  }

  get #sql(): SqlStorage {
    if (!this.#hasTables) for (const statement of schema) this.#sqlStorage.exec(statement)
    this.#hasTables = true
    return this.#sqlStorage
  }
}

type StoredBody = Omit<SkillRecord, 'name' | 'source' | 'isPinned' | 'archivedAt' | 'usedAt'>

function toRecord({ name, source, body, pinned, archived, used }: SkillRow): SkillRecord {
  return {
    ...(JSON.parse(body) as StoredBody),
    name,
    source: source as SkillSource,
    isPinned: pinned === 1,
    archivedAt: archived ?? undefined,
    usedAt: used ?? undefined,
  }
}

/** The hash of a skill: over the paths and hashes of its files, in the order of the paths. */
export const hashFiles = (files: readonly Pick<SkillFile, 'path' | 'hash'>[]): Promise<string> => {
  const sorted = files.toSorted((one, other) => (one.path < other.path ? -1 : 1))
  return sha256Hex(sorted.map(({ path, hash }) => `${path}\n${hash}\n`).join(''))
}
