/**
 * Measures what a tenant stores in the stores that all tenants share: D1 and R2. Only while there is a limit on stored
 * bytes, and only after activity: a tenant that does nothing is not woken. Sessions that reported since the last
 * measurement are measured again; everything once a week.
 */

import { historyDb } from '#db/shards/sharded-database.ts'
import type { Limits } from '#agent/core/settings.ts'
import { sumAuditBytes, sumHistory } from '#db/stored-bytes.ts'
import type { ScheduledPart } from '#durable/platform/part-schedule.ts'
import type { StoredValues } from './stored-values.ts'
import { blobPrefix, sessionBlobPattern, sessionBlobPrefix, sessionsBlobPrefix } from '#durable/platform/addresses.ts'

export type SharedStorageOptions = {
  readonly tenantId: string
  readonly sql: SqlStorage
  readonly values: StoredValues
  readonly env: Env
  readonly limits: () => Limits
  /** Bytes of the tenant in rows of its own object. */
  readonly ownBytes: () => number
  readonly armAlarm: () => void
}

/** `blobs`: without what sessions report. */
type Measured = {
  readonly at: number
  readonly database: number
  readonly blobs: number
  /** When everything was measured. Absent in values of earlier releases. */
  readonly fullAt?: number
  /** Of the audit log before `at`; a part of `database`. */
  readonly audit?: number
  /** The tenant was active since `at`. */
  readonly isDue?: boolean
}

/** The bytes of each session that this object cannot see itself. `changed`: measure it again. */
const schema = `CREATE TABLE IF NOT EXISTS shared_bytes
  (session TEXT PRIMARY KEY, history INTEGER NOT NULL, blobs INTEGER NOT NULL, changed INTEGER NOT NULL) WITHOUT ROWID`

const intervalMs = 900_000
const fullIntervalMs = 7 * 86_400_000
/** A list of R2 for each session costs more than one of everything. */
const maxListed = 100
/** Of 1000 objects each. A tenant with more has at least what was counted. */
const maxPages = 500
/** Audit entries may arrive so much later than they happened. */
const lateMs = 3_600_000
/** Name of the stored value. */
const measuredName = 'shared bytes'

const nothing: Measured = { at: 0, database: 0, blobs: 0 }

export class SharedStorage implements ScheduledPart {
  readonly #options: SharedStorageOptions
  #hasTable = false
  /** Changes during a measurement: they are measured by the next one. */
  #noted = 0
  readonly #touched = new Set<string>()

  constructor(options: SharedStorageOptions) {
    this.#options = options
  }

  /** The bytes that were measured last, without what sessions report. */
  bytes(): number {
    this.#noteActivity()
    const { at, database, blobs } = this.#measured() ?? nothing
    return at ? database + blobs + this.#options.ownBytes() : 0
  }

  /** A session has reported what it stores: zero when it is deleted. */
  noteSession(sessionId: string, bytes: number): void {
    if (this.#options.limits().storage_bytes === undefined) return
    this.#touched.add(sessionId)
    const mark = 'INSERT INTO shared_bytes VALUES (?, 0, 0, 1) ON CONFLICT DO UPDATE SET changed = 1 WHERE changed = 0'
    this.#sql.exec(bytes > 0 ? mark : 'DELETE FROM shared_bytes WHERE session = ?', sessionId)
    this.#noteActivity()
  }

  #noteActivity(): void {
    this.#noted++
    const measured = this.#measured() ?? nothing
    if (measured.isDue) return
    this.#options.values.set(measuredName, { ...measured, isDue: true } satisfies Measured)
    this.#options.armAlarm()
  }

  wakeAt(): number | undefined {
    if (this.#options.limits().storage_bytes === undefined) return undefined
    const measured = this.#measured()
    return measured?.isDue ? measured.at + intervalMs : undefined
  }

  async wake(now: number): Promise<void> {
    const before = this.#measured() ?? nothing
    const noted = this.#noted
    this.#touched.clear()
    const changed = this.#changed()
    const isFull = now - (before.fullAt ?? 0) >= fullIntervalMs || changed.length > maxListed
    const others = isFull ? await this.#measureAll() : await this.#measureSome(changed)
    const audit = await this.#sumAudit(isFull ? nothing : before, now)
    const { history, blobs } = this.#sums()
    const measured: Measured = {
      at: now,
      database: history + audit,
      blobs: blobs + others,
      fullAt: isFull ? now : (before.fullAt ?? 0),
      audit,
      isDue: this.#noted !== noted,
    }
    this.#options.values.set(measuredName, measured)
  }

  /** Measures everything again. Returns the bytes in R2 that belong to no session. */
  async #measureAll(): Promise<number> {
    const { env, tenantId } = this.#options
    const folder = sessionsBlobPrefix(tenantId)
    const [history, files] = await Promise.all([
      sumHistory(historyDb(env, tenantId), tenantId),
      sumBlobs(env.BLOBS, blobPrefix(tenantId), (key) =>
        key.startsWith(folder) ? key.slice(folder.length).split('/', 1)[0] : undefined,
      ),
    ])
    const ids = new Set([...history.keys(), ...files.bySession.keys()])
    for (const { session } of this.#rows('SELECT session FROM shared_bytes'))
      if (!ids.has(session)) this.#forget(session)
    for (const id of ids) this.#set(id, history.get(id) ?? 0, files.bySession.get(id) ?? 0)
    return files.others
  }

  /** Measures these sessions again. Returns the bytes in R2 that belong to no session. */
  async #measureSome(ids: readonly string[]): Promise<number> {
    const { env, tenantId } = this.#options
    const history = ids.length ? await sumHistory(historyDb(env, tenantId), tenantId, ids) : undefined
    for (const id of ids) {
      const { others: blobs } = await sumBlobs(env.BLOBS, sessionBlobPrefix(tenantId, id))
      this.#set(id, history?.get(id) ?? 0, blobs)
    }
    const root = await env.BLOBS?.list({ prefix: blobPrefix(tenantId), delimiter: '/' })
    let bytes = root?.objects.reduce((sum, { size }) => sum + size, 0) ?? 0
    for (const prefix of root?.delimitedPrefixes ?? [])
      if (prefix !== sessionsBlobPrefix(tenantId)) bytes += (await sumBlobs(env.BLOBS, prefix)).others
    return bytes
  }

  /** The audit log only grows. */
  async #sumAudit({ at, audit = 0, fullAt }: Measured, now: number): Promise<number> {
    const { env, tenantId } = this.#options
    const since = fullAt === undefined ? 0 : Math.max(0, at - lateMs)
    const until = Math.max(since, now - lateMs)
    const settled = await sumAuditBytes(env.DB, tenantId, { since, until })
    return audit + settled
  }

  #set(sessionId: string, history: number, blobs: number): void {
    // One that has reported meanwhile may have more by now.
    const changed = Number(this.#touched.has(sessionId))
    this.#sql.exec(
      `INSERT INTO shared_bytes VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO UPDATE
        SET history = ?2, blobs = ?3, changed = ?4 WHERE (history, blobs, changed) <> (?2, ?3, ?4)`,
      sessionId,
      history,
      blobs,
      changed,
    )
  }

  #forget(sessionId: string): void {
    if (!this.#touched.has(sessionId)) this.#sql.exec('DELETE FROM shared_bytes WHERE session = ?', sessionId)
  }

  #changed(): readonly string[] {
    return this.#rows('SELECT session FROM shared_bytes WHERE changed = 1').map(({ session }) => session)
  }

  #rows(query: string): readonly { readonly session: string }[] {
    return this.#sql.exec<{ session: string }>(query).toArray()
  }

  #sums(): { readonly history: number; readonly blobs: number } {
    const query = 'SELECT total(history) AS history, total(blobs) AS blobs FROM shared_bytes'
    return this.#sql.exec<{ history: number; blobs: number }>(query).one()
  }

  #measured(): Measured | undefined {
    return this.#options.values.get<Measured>(measuredName)
  }

  /** Creates the table at the first use: most tenants have no limit. */
  get #sql(): SqlStorage {
    const { sql } = this.#options
    if (!this.#hasTable) sql.exec(schema)
    this.#hasTable = true
    return sql
  }
}

/** Workspace files and checkpoints: every session reports its own (storage-usage.ts). */
const reportedKey = sessionBlobPattern(['files', 'checkpoints'])

type BlobSums = { readonly others: number; readonly bySession: ReadonlyMap<string, number> }

/** Sums the objects below a prefix. `sessionOf`: those of a session are summed by session instead. */
async function sumBlobs(
  blobs: R2Bucket | undefined,
  prefix: string,
  sessionOf: (key: string) => string | undefined = () => undefined,
): Promise<BlobSums> {
  let others = 0
  const bySession = new Map<string, number>()
  for await (const { key, size } of listBlobs(blobs, prefix)) {
    const session = sessionOf(key)
    if (session === undefined) others += size
    else bySession.set(session, (bySession.get(session) ?? 0) + size)
  }
  return { others, bySession }
}

/** Lists the objects below a prefix that no session reports. */
async function* listBlobs(blobs: R2Bucket | undefined, prefix: string): AsyncGenerator<R2Object> {
  let cursor: string | undefined
  for (let page = 0; page < maxPages; page++) {
    const found = await blobs?.list({ prefix, ...(cursor !== undefined && { cursor }) })
    yield* (found?.objects ?? []).filter(({ key }) => !reportedKey.test(key))
    if (!found?.truncated) return
    cursor = found.cursor
  }
}
