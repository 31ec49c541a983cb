/**
 * Addresses the history of a tenant in a deployment with several databases. Every query asks the database, in the same
 * batch, whether the tenant has left it: a tenant is moved while isolates still know its old database.
 */

import { findHistoryDatabase, forgetHistoryDatabase, listShards } from './history-databases.ts'

/** The part of D1 that histories use. */
export type HistoryDb = Pick<D1Database, 'prepare' | 'batch'>

/** A tenant is not reached for the moment in which it changes its database. */
const moveTimeoutMs = 10_000
const firstPauseMs = 50
const maxPauseMs = 1_000

/** An error in the batch is the only way to stop its other statements. Text that is no JSON is one. */
const requireHere = `SELECT json('moved ' || tenant_id) FROM moved WHERE tenant_id = ?1 AND until > unixepoch() * 1000`
const isStopped = (error: unknown): boolean => String(error).includes('malformed JSON')

/** Whether the error is that of `requireHere`, and not of the statement itself. */
const hasMoved = async (db: D1Database, tenantId: string): Promise<boolean> =>
  (await db.prepare('SELECT 1 FROM moved WHERE tenant_id = ?1').bind(tenantId).first()) !== null

type Bound = { readonly sql: string; readonly values: readonly unknown[] }

/** A statement of a database that is known when it runs. */
class ShardedStatement {
  readonly bound: Bound
  readonly #run: (statements: readonly Bound[]) => Promise<D1Result[]>

  constructor(bound: Bound, run: (statements: readonly Bound[]) => Promise<D1Result[]>) {
    this.bound = bound
    this.#run = run
  }

  bind(...values: readonly unknown[]): ShardedStatement {
    return new ShardedStatement({ ...this.bound, values }, this.#run)
  }

  async all(): Promise<D1Result> {
    const [result] = await this.#run([this.bound])
    return result!
  }

  run(): Promise<D1Result> {
    return this.all()
  }
}

/**
 * The database with the history of the tenant: `DB` itself in a deployment without others. A query waits at most `waitMs`
 * for a tenant that is moved.
 */
export function historyDb(env: Env, tenantId: string, waitMs = moveTimeoutMs): HistoryDb {
  if (!listShards(env).length) return env.DB
  const run = (statements: readonly Bound[]) => runWhereTenantIs({ env, tenantId, waitMs }, statements)
  const batch = (statements: readonly ShardedStatement[]) => run(statements.map(({ bound }) => bound))
  const prepare = (sql: string) => new ShardedStatement({ sql, values: [] }, run)
  return { prepare, batch } as unknown as HistoryDb
}

type Place = { readonly env: Env; readonly tenantId: string; readonly waitMs: number }

async function runWhereTenantIs({ env, tenantId, waitMs }: Place, statements: readonly Bound[]): Promise<D1Result[]> {
  const end = Date.now() + waitMs
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pauseMs * 2, maxPauseMs)) {
    const { db } = await findHistoryDatabase(env, tenantId)
    try {
      const guard = db.prepare(requireHere).bind(tenantId)
      const [, ...results] = await db.batch([
        guard,
        ...statements.map(({ sql, values }) => db.prepare(sql).bind(...values)),
      ])
      return results
    } catch (error) {
      if (!isStopped(error) || !(await hasMoved(db, tenantId))) throw error
      if (Date.now() > end) throw new Error('The history of this tenant is being moved.', { cause: error })
    }
    forgetHistoryDatabase(tenantId)
    await new Promise((resolve) => setTimeout(resolve, pauseMs))
  }
}
