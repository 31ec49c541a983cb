/** Stores failures of tools and what fixed them, for all sessions of the tenant. Texts are redacted before they come. */

import type { Authority } from '#agent/core/permission/authority.ts'
import type { Fix } from '#agent/skills/learning/fixes.ts'
import { type ChangeCheck, TenantPart } from './tenant-part.ts'

/** Those that were seen last stay. */
const maxFixes = 200
/** A failure that was fixed so often should become a skill. */
const usesForSkill = 3

export type StoredFix = Fix & { readonly uses: number }
type FixRow = Record<keyof Fix, string> & { readonly uses: number }

const columns = 'signature, tool, error, failed, fix, uses'

export class TenantFixes extends TenantPart {
  readonly #sql: SqlStorage

  constructor(mayChange: ChangeCheck, sql: SqlStorage) {
    super(mayChange)
    this.#sql = sql
    sql.exec(`CREATE TABLE IF NOT EXISTS fix (signature TEXT PRIMARY KEY, tool TEXT NOT NULL, error TEXT NOT NULL,
      failed TEXT NOT NULL, fix TEXT NOT NULL, uses INTEGER NOT NULL, seen INTEGER NOT NULL,
      suggested INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID`)
  }

  /**
   * Stores fixes, or counts them when their failure is known; the newest fix of a failure stays. Returns those that were
   * used often enough for a skill, each once.
   */
  record(authority: Authority, fixes: readonly Fix[]): readonly StoredFix[] {
    this.requireOwn(authority)
    for (const { signature, tool, error, failed, fix } of fixes)
      this.#sql.exec(
        `INSERT INTO fix(signature, tool, error, failed, fix, uses, seen)
           SELECT ?, ?, ?, ?, ?, 1, coalesce(max(seen), 0) + 1 FROM fix WHERE true
         ON CONFLICT DO UPDATE SET error = excluded.error, failed = excluded.failed, fix = excluded.fix,
           uses = uses + 1, seen = excluded.seen`,
        signature,
        tool,
        error,
        failed,
        fix,
      )
    this.#sql.exec(
      'DELETE FROM fix WHERE signature NOT IN (SELECT signature FROM fix ORDER BY seen DESC LIMIT ?)',
      maxFixes,
    )
    const ripe = this.#sql
      .exec<FixRow>(`SELECT ${columns} FROM fix WHERE uses >= ? AND suggested = 0`, usesForSkill)
      .toArray()
    this.#sql.exec('UPDATE fix SET suggested = 1 WHERE uses >= ?', usesForSkill)
    return ripe
  }

  /** Those seen last first; with words, those that have all of them. */
  list(authority: Authority, query = ''): readonly StoredFix[] {
    this.requireOwn(authority)
    const words = query.toLowerCase().split(/\s+/).filter(Boolean)
    const all = this.#sql.exec<FixRow>(`SELECT ${columns} FROM fix ORDER BY seen DESC`).toArray()
    return all.filter(({ tool, error, failed, fix }) => {
      const text = [tool, error, failed, fix].join(' ').toLowerCase()
      return words.every((word) => text.includes(word))
    })
  }

  /** Returns the fix of a failure. */
  find(authority: Authority, signature: string): StoredFix | undefined {
    this.requireOwn(authority)
    return this.#sql.exec<FixRow>(`SELECT ${columns} FROM fix WHERE signature = ?`, signature).toArray()[0]
  }
}
