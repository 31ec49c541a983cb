/** Stores failures of tools and what fixed them, for all sessions of the tenant. Texts are redacted before they come. */

import { hash53 } from '#agent/core/hash53.ts'
import { type Authority, isLimitedByRole, marksOfAuthority } from '#agent/core/permission/authority.ts'
import { areAlike, type Fix } from '#agent/skills/learning/fixes.ts'
import type { ChangeCheck } from '../tenant-part.ts'
import type { FoundFix, ListedFix, StoredFix } from './fixes.ts'

/** Those that were seen last stay. */
const maxFixes = 200
/** A failure that was fixed so often should become a skill. */
const usesForSkill = 3
const maxTags = 10
const maxTagChars = 40

type FixRow = Record<keyof Fix, string> & { readonly uses: number }

const columns = 'signature, tool, error, failed, fix, uses'
/**
 * Beside the fixes: their tags, the signatures of failures that were merged into others, and the fixes of turns that had
 * read nothing of strangers. Older ones count as foreign.
 */
const schema = [
  `CREATE TABLE IF NOT EXISTS fix (signature TEXT PRIMARY KEY, tool TEXT NOT NULL, error TEXT NOT NULL,
    failed TEXT NOT NULL, fix TEXT NOT NULL, uses INTEGER NOT NULL, seen INTEGER NOT NULL,
    suggested INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID`,
  'CREATE TABLE IF NOT EXISTS fix_tag (signature TEXT NOT NULL, tag TEXT NOT NULL, PRIMARY KEY (signature, tag)) WITHOUT ROWID',
  'CREATE TABLE IF NOT EXISTS fix_clean (signature TEXT PRIMARY KEY) WITHOUT ROWID',
  'CREATE TABLE IF NOT EXISTS fix_alias (signature TEXT PRIMARY KEY, kept TEXT NOT NULL) WITHOUT ROWID',
]

const idOf = (signature: string): string => hash53(signature).toString(36)

export class StoredFixes {
  readonly #mayChange: ChangeCheck
  readonly #sql: SqlStorage

  constructor(mayChange: ChangeCheck, sql: SqlStorage) {
    this.#mayChange = mayChange
    this.#sql = sql
    for (const statement of schema) sql.exec(statement)
  }

  /**
   * Stores fixes, or counts them when their failure is known; the newest fix of a failure stays. Returns those that were
   * used often enough for a skill, each once.
   */
  record(authority: Authority, fixes: readonly Fix[]): readonly StoredFix[] {
    if (!this.#mayTeach(authority)) return []
    for (const fix of fixes) this.#store(authority, fix)
    const ripe = this.#sql
      .exec<FixRow>(`SELECT ${columns} FROM fix WHERE uses >= ? AND suggested = 0`, usesForSkill)
      .toArray()
    this.#sql.exec('UPDATE fix SET suggested = 1 WHERE uses >= ?', usesForSkill)
    return ripe
  }

  /** Sessions of everybody are offered what is kept. */
  #mayTeach = (authority: Authority): boolean => this.#mayChange(authority, 'write') && !isLimitedByRole(authority)

  #store(authority: Authority, { signature, tool, error, failed, fix }: Fix): string {
    const kept = this.#keptFor(signature)
    this.#sql.exec(
      `INSERT INTO fix(signature, tool, error, failed, fix, uses, seen)
         SELECT ?, ?, ?, ?, ?, 1, coalesce(max(seen), 0) + 1 FROM fix WHERE true
       ON CONFLICT DO UPDATE SET error = excluded.error, failed = excluded.failed, fix = excluded.fix,
         uses = uses + 1, seen = excluded.seen`,
      kept,
      tool,
      error,
      failed,
      fix,
    )
    this.#sql.exec(
      'DELETE FROM fix WHERE signature NOT IN (SELECT signature FROM fix ORDER BY seen DESC LIMIT ?)',
      maxFixes,
    )
    this.#removeOrphans()
    this.#markOrigin(authority, kept)
    return kept
  }

  #markOrigin(authority: Authority, signature: string): void {
    if (marksOfAuthority(authority).isForeign) this.#sql.exec('DELETE FROM fix_clean WHERE signature = ?', signature)
    else this.#sql.exec('INSERT OR IGNORE INTO fix_clean VALUES (?)', signature)
  }

  /** The signature under which a failure is stored since it was merged. */
  #keptFor(signature: string): string {
    const query = 'SELECT kept FROM fix_alias WHERE signature = ?'
    return this.#sql.exec<{ kept: string }>(query, signature).toArray()[0]?.kept ?? signature
  }

  #removeOrphans(): void {
    for (const table of ['fix_tag', 'fix_clean'])
      this.#sql.exec(`DELETE FROM ${table} WHERE signature NOT IN (SELECT signature FROM fix)`)
    this.#sql.exec('DELETE FROM fix_alias WHERE kept NOT IN (SELECT signature FROM fix)')
  }

  /** Those seen last first; with words or a tag, those that have all of them. */
  list(_authority: Authority, query = '', tags: readonly string[] = []): readonly ListedFix[] {
    const words = query.toLowerCase().split(/\s+/).filter(Boolean)
    const wanted = cleanTags(tags)
    const known = new Map<string, string[]>()
    const rows = this.#sql.exec<{ signature: string; tag: string }>('SELECT signature, tag FROM fix_tag ORDER BY tag')
    for (const { signature, tag } of rows) known.set(signature, [...(known.get(signature) ?? []), tag])
    const clean = new Set(
      this.#sql
        .exec<{ signature: string }>('SELECT signature FROM fix_clean')
        .toArray()
        .map(({ signature }) => signature),
    )
    return this.#all()
      .map((row) => {
        const { signature } = row
        return { ...row, id: idOf(signature), tags: known.get(signature) ?? [], isForeign: !clean.has(signature) }
      })
      .filter(({ tool, error, failed, fix, tags: own }) => {
        const text = [tool, error, failed, fix, ...own].join(' ').toLowerCase()
        return words.every((word) => text.includes(word)) && wanted.every((tag) => own.includes(tag))
      })
  }

  #all = (): readonly FixRow[] => this.#sql.exec<FixRow>(`SELECT ${columns} FROM fix ORDER BY seen DESC`).toArray()

  /** Returns the fix of a failure. */
  find(_authority: Authority, signature: string): FoundFix | undefined {
    const query = `SELECT ${columns}, signature NOT IN (SELECT signature FROM fix_clean) AS foreigner FROM fix WHERE signature = ?`
    const [row] = this.#sql.exec<FixRow & { readonly foreigner: number }>(query, this.#keptFor(signature)).toArray()
    if (!row) return undefined
    const { foreigner, ...fix } = row
    return { ...fix, isForeign: foreigner !== 0 }
  }

  /** Stores what somebody has described. Returns its id; undefined: the caller may not. */
  save(authority: Authority, fix: Fix, tags: readonly string[] = []): string | undefined {
    if (!this.#mayTeach(authority)) return undefined
    const kept = this.#store(authority, fix)
    if (tags.length) this.#setTags(kept, [...this.#tagsOf(kept), ...tags])
    return idOf(kept)
  }

  /** Replaces the tags of some. Returns how many there were. */
  tag(authority: Authority, ids: readonly string[], tags: readonly string[]): number {
    const signatures = this.#mayTeach(authority) ? this.#signaturesOf(ids) : []
    for (const signature of signatures) this.#setTags(signature, tags)
    return signatures.length
  }

  #tagsOf = (signature: string): readonly string[] =>
    this.#sql
      .exec<{ tag: string }>('SELECT tag FROM fix_tag WHERE signature = ?', signature)
      .toArray()
      .map(({ tag }) => tag)

  #setTags(signature: string, tags: readonly string[]): void {
    this.#sql.exec('DELETE FROM fix_tag WHERE signature = ?', signature)
    for (const tag of cleanTags(tags).slice(0, maxTags))
      this.#sql.exec('INSERT INTO fix_tag VALUES (?, ?)', signature, tag)
  }

  /**
   * Makes one of several failures: of those that are named, or without names of all that are alike. The one that was seen
   * last stays, with the uses and the tags of all, and answers for their failures. Returns how many are gone.
   */
  merge(authority: Authority, ids?: readonly string[], fix?: string): number {
    if (!this.#mayTeach(authority)) return 0
    const all = this.#all()
    if (ids) {
      const named = new Set(ids)
      const [kept, ...others] = all.filter(({ signature }) => named.has(idOf(signature)))
      if (kept && fix !== undefined) {
        this.#sql.exec('UPDATE fix SET fix = ? WHERE signature = ?', fix, kept.signature)
        // The failure stays that of whoever has met it.
        if (marksOfAuthority(authority).isForeign) this.#markOrigin(authority, kept.signature)
      }
      return this.#mergeInto(kept, others)
    }
    let gone = 0
    const left = [...all]
    for (let first = left.shift(); first; first = left.shift()) {
      const { tool, signature } = first
      const alike = left.filter((one) => one.tool === tool && areAlike(signature, one.signature))
      gone += this.#mergeInto(first, alike)
      for (const one of alike) left.splice(left.indexOf(one), 1)
    }
    return gone
  }

  #mergeInto(kept: FixRow | undefined, others: readonly FixRow[]): number {
    if (!kept || !others.length) return 0
    const { signature } = kept
    const tags = [kept, ...others].flatMap((one) => this.#tagsOf(one.signature))
    for (const other of others) {
      this.#sql.exec('UPDATE fix SET uses = uses + ? WHERE signature = ?', other.uses, signature)
      this.#sql.exec('DELETE FROM fix WHERE signature = ?', other.signature)
      this.#sql.exec('UPDATE fix_alias SET kept = ? WHERE kept = ?', signature, other.signature)
      this.#sql.exec('INSERT OR REPLACE INTO fix_alias VALUES (?, ?)', other.signature, signature)
    }
    this.#setTags(signature, tags)
    this.#removeOrphans()
    return others.length
  }

  /** Returns how many there were. */
  remove(authority: Authority, ids: readonly string[]): number {
    const signatures = this.#mayTeach(authority) ? this.#signaturesOf(ids) : []
    for (const signature of signatures) this.#sql.exec('DELETE FROM fix WHERE signature = ?', signature)
    this.#removeOrphans()
    return signatures.length
  }

  #signaturesOf(ids: readonly string[]): readonly string[] {
    const named = new Set(ids)
    const all = this.#sql.exec<{ signature: string }>('SELECT signature FROM fix').toArray()
    return all.map(({ signature }) => signature).filter((signature) => named.has(idOf(signature)))
  }
}

const cleanTags = (tags: readonly string[]): readonly string[] => [
  ...new Set(tags.map((tag) => tag.trim().toLowerCase().slice(0, maxTagChars)).filter(Boolean)),
]
