/** Simulates a deployment with several databases of histories: tenants that write, one that is moved meanwhile. */

import { applyD1Migrations, type D1Migration } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import type { Page, SessionRecord } from '#agent/core/history.ts'
import { noUsage } from '#agent/core/usage.ts'
import { openHistory } from '#db/history.ts'
import { chooseHistoryDatabase } from '#db/shards/measure-databases.ts'
import { createTenants } from '#db/tenants.ts'

type TestBindings = Env & {
  readonly MIGRATIONS: D1Migration[]
  readonly SHARD_1: D1Database
  readonly SHARD_2: D1Database
  readonly SHARD_3: D1Database
}
const bound = env as unknown as TestBindings

/** The deployment with three databases of histories. */
export const fleet = { ...bound, HISTORY_1: bound.SHARD_1, HISTORY_2: bound.SHARD_2, HISTORY_3: bound.SHARD_3 } as Env
/** The same deployment without them. */
export const single: Env = bound
export const databases = [bound.SHARD_1, bound.SHARD_2, bound.SHARD_3]

export class Died extends Error {}

/** The deployment as an isolate sees it that dies at a query. `isDone`: the query takes effect, and its answer is lost. */
export function dyingAt(query: number, isDone: boolean): Env {
  let queries = 0
  const run = async <T>(work: () => Promise<T>): Promise<T> => {
    const mine = ++queries
    if (mine > query || (mine === query && !isDone)) throw new Died()
    const result = await work()
    if (mine === query) throw new Died()
    return result
  }
  const { DB, HISTORY_1, HISTORY_2, HISTORY_3 } = fleet as unknown as Record<string, D1Database>
  const bindings = Object.entries({ DB, HISTORY_1, HISTORY_2, HISTORY_3 })
  return { ...fleet, ...Object.fromEntries(bindings.map(([name, db]) => [name, watched(db!, run)])) }
}

type Run = <T>(work: () => Promise<T>) => Promise<T>

/** The same database, whose queries `run` runs. */
function watched(db: D1Database, run: Run): D1Database {
  const plain = new WeakMap<object, D1PreparedStatement>()
  const wrap = (statement: D1PreparedStatement): D1PreparedStatement => {
    const wrapped = {
      bind: (...values: unknown[]) => wrap(statement.bind(...values)),
      all: () => run(() => statement.all()),
      run: () => run(() => statement.run()),
      first: () => run(() => statement.first()),
    } as unknown as D1PreparedStatement
    plain.set(wrapped, statement)
    return wrapped
  }
  const batch = (statements: readonly D1PreparedStatement[]) =>
    run(() => db.batch(statements.map((one) => plain.get(one) ?? one)))
  return { prepare: (sql: string) => wrap(db.prepare(sql)), batch } as unknown as D1Database
}

export const migrateAll = async () => {
  for (const db of [bound.DB, ...databases]) await applyD1Migrations(db, bound.MIGRATIONS)
}

export async function createTenant(id: string): Promise<void> {
  await createTenants(fleet.DB, '', () => chooseHistoryDatabase(fleet)).create({ id, name: id }, Date.now())
}

const pagesPerCopy = 50
const at = Date.UTC(2026, 5, 1)
const words = (tenant: string, n: number, filler = '') => `message${n} of ${tenant}${filler && ` ${filler}`}`

/** A session whose pages have one message each, as projections send them. */
export class FleetSession {
  readonly tenant: string
  readonly id: string
  /** Text that every message ends with. */
  readonly filler: string
  written = 0

  constructor(tenant: string, id: string, filler = '') {
    this.filler = filler
    this.tenant = tenant
    this.id = id
  }

  #record(): SessionRecord {
    return {
      id: this.id,
      title: `Title of ${this.id}`,
      source: 'api',
      model: null,
      parentId: null,
      createdAt: at,
      updatedAt: at + this.written,
      usage: noUsage,
      state: { written: this.written },
    }
  }

  #page(n: number): Page {
    const message = { role: 'user', content: [{ type: 'text', text: words(this.tenant, n, this.filler) }] } as const
    return {
      n,
      runId: `run-${this.id}-${n}`,
      at: at + n,
      entries: [{ id: `m${n}`, seq: n, at: at + n, runId: `run-${n}`, tokens: 3, message }],
    }
  }

  /** Writes all messages into another deployment. */
  async copyTo(deployment: Env): Promise<void> {
    const history = openHistory(deployment, this.tenant)
    for (let n = 0; n < this.written; n += pagesPerCopy) {
      const count = Math.min(pagesPerCopy, this.written - n)
      const pages = Array.from({ length: count }, (_, place) => this.#page(n + place + 1))
      await history.append(this.#record(), pages)
    }
  }

  /** Sends more messages until they arrive, as a session's object does: a busy machine may take long for a switch. */
  async write(messages: number): Promise<void> {
    const pages = Array.from({ length: messages }, (_, n) => this.#page(this.written + n + 1))
    this.written += messages
    for (let isSent = false; !isSent;)
      isSent = await openHistory(fleet, this.tenant)
        .append(this.#record(), pages)
        .then(
          () => true,
          (error: unknown) => {
            if (!String(error).includes('is being moved')) throw error
            return false
          },
        )
  }

  async undo(messages: number): Promise<void> {
    await openHistory(fleet, this.tenant).truncate(this.id, this.written - messages + 1)
    this.written -= messages
  }

  /** The texts of all messages as history has them. */
  async read(): Promise<readonly string[]> {
    const history = openHistory(fleet, this.tenant)
    const found: string[] = []
    for (let after = 0; ;) {
      const pages = await history.listPages(this.id, after)
      for (const { entries } of pages)
        for (const { message } of entries)
          found.push(message.content.map((part) => (part.type === 'text' ? part.text : '')).join(''))
      const last = pages.at(-1)
      if (!last) return found
      after = last.n
    }
  }

  expected(): readonly string[] {
    return Array.from({ length: this.written }, (_, n) => words(this.tenant, n + 1, this.filler))
  }
}
