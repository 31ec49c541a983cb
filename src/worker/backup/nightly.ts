/**
 * Backs all tenants up each night, into R2 (docs/design/backups.md#every-night). A cron trigger calls it every ten
 * minutes: it goes on for some minutes, and the next call continues where this one ended or was killed.
 */

import { log } from '#agent/core/log.ts'
import { systemAuthority } from '#agent/core/permission/authority.ts'
import { ownerTenant } from '#db/schema.ts'
import { findTenants, listTenantsAfter, type NamedTenant } from '#db/tenants.ts'
import { clock } from '#durable/platform/clock.ts'
import type { ListPage } from '../input/page.ts'
import { backupsPrefix, deleteOldNights, NightArchive } from './night-archive.ts'
import { deriveTenantKeys, newSalt, type TenantKey } from './seal.ts'
import {
  listBlobs,
  listSessions,
  readBlob,
  readCheckpoints,
  readRows,
  readSession,
  readState,
  type Source,
} from './tenant-parts.ts'

const minuteMs = 60_000
const hourMs = 60 * minuteMs
/** A call ends, and a killed one is given up, before the next one begins. */
const maxRunMs = 8 * minuteMs
const leaseMs = 9 * minuteMs
/** An invocation may make 10 000 requests; a part needs about three. */
const maxParts = 2_000
const minPassphraseChars = 12
const pageSize = 100
/** R2 takes one write a second of the same object. */
const minSaveMs = 1_500
const statusKey = `${backupsPrefix}status.json`

type BackupSettings = {
  readonly bucket: R2Bucket
  readonly passphrase: string
  readonly days: number
  readonly hour: number
}

/** Undefined when no backup is wanted; a text when the settings cannot be used. */
export function readBackupSettings(env: Env): BackupSettings | string | undefined {
  const { BACKUP_PASSPHRASE: passphrase, BACKUP_DAYS, BACKUP_HOUR } = env
  const bucket = env.BACKUPS ?? env.BLOBS
  if (!passphrase) return undefined
  const [days, hour] = [Number(BACKUP_DAYS || 14), Number(BACKUP_HOUR || 3)]
  if (!bucket) return 'There is no bucket: bind BACKUPS or BLOBS.'
  if (passphrase.length < minPassphraseChars) return `BACKUP_PASSPHRASE needs ${minPassphraseChars} characters.`
  if (!Number.isInteger(days) || days < 1) return 'BACKUP_DAYS must be a number of days.'
  if (!Number.isInteger(hour) || hour < 0 || hour > 23) return 'BACKUP_HOUR must be an hour of 0 to 23, in UTC.'
  return { bucket, passphrase, days, hour }
}

/** The stored state of the current night. */
export type NightStatus = {
  readonly night: string
  readonly salt: string
  /** The last tenant that was tried; null when all were. */
  readonly after: string | null
  readonly done: number
  readonly failed: Readonly<Record<string, string>>
  readonly busyUntil: number
  readonly finishedAt?: number
  /** The last night in which no tenant failed. */
  readonly last?: { readonly night: string; readonly at: number; readonly tenants: number }
}

export async function readNightStatus({ bucket }: Pick<BackupSettings, 'bucket'>): Promise<NightStatus | undefined> {
  return (await bucket.get(statusKey))?.json<NightStatus>()
}

export const nightAt = (now: number, hour: number): string => new Date(now - hour * hourMs).toISOString().slice(0, 10)

/** Ends a call that has taken enough time or requests. The next one goes on. */
class Interruption extends Error {}

export type NightLimits = { readonly runMs: number; readonly parts: number }

export async function runNightly(env: Env, limits: NightLimits = { runMs: maxRunMs, parts: maxParts }): Promise<void> {
  const settings = readBackupSettings(env)
  if (settings === undefined) return
  if (typeof settings === 'string') return log.error('backup.unusable', settings)
  const run = await NightRun.start(env, settings, limits)
  await run?.work()
}

/** Undefined when there is nothing to do now. */
function nextStatus(before: NightStatus | undefined, { hour }: BackupSettings): NightStatus | undefined {
  const now = clock.now()
  const night = nightAt(now, hour)
  const busyUntil = now + leaseMs
  if (!before) return { night, after: '', done: 0, failed: {}, salt: newSalt(), busyUntil }
  if (before.busyUntil > now) return undefined
  if (before.night === night) return before.finishedAt ? undefined : { ...before, busyUntil }
  const { salt, last } = before
  return { night, after: '', done: 0, failed: {}, salt, busyUntil, ...(last && { last }) }
}

class NightRun {
  readonly #env: Env
  readonly #settings: BackupSettings
  readonly #until: number
  readonly #keyOf: (tenantId: string) => Promise<TenantKey>
  #partsLeft: number
  #status: NightStatus
  #etag: string
  #savedAt = clock.now()

  private constructor(
    given: { readonly env: Env; readonly settings: BackupSettings; readonly limits: NightLimits },
    stored: { readonly status: NightStatus; readonly etag: string },
    keyOf: (tenantId: string) => Promise<TenantKey>,
  ) {
    this.#env = given.env
    this.#settings = given.settings
    this.#until = clock.now() + given.limits.runMs
    this.#partsLeft = given.limits.parts
    this.#status = stored.status
    this.#etag = stored.etag
    this.#keyOf = keyOf
  }

  /** Undefined when the night is finished, or another call is at work. */
  static async start(env: Env, settings: BackupSettings, limits: NightLimits): Promise<NightRun | undefined> {
    const { bucket, passphrase } = settings
    const stored = await bucket.get(statusKey)
    const status = nextStatus(await stored?.json<NightStatus>(), settings)
    if (!status) return undefined
    // Of two calls at once one gets it.
    const onlyIf = stored ? { etagMatches: stored.etag } : { etagDoesNotMatch: '*' }
    const put = await bucket.put(statusKey, JSON.stringify(status), { onlyIf })
    if (!put) return undefined
    const keyOf = await deriveTenantKeys(passphrase, status.salt)
    return new NightRun({ env, settings, limits }, { status, etag: put.etag }, keyOf)
  }

  async work(): Promise<void> {
    try {
      await this.#backUpOthers()
      await this.#retryFailed()
      await this.#finish()
    } catch (error) {
      if (!(error instanceof Interruption)) throw error
    } finally {
      await this.#release()
    }
  }

  async #release(): Promise<void> {
    this.#status = { ...this.#status, busyUntil: 0 }
    await clock.wait(Math.max(0, this.#savedAt + minSaveMs - clock.now()))
    try {
      await this.#write()
    } catch (error) {
      // Another call has taken over.
      if (!(error instanceof Interruption)) throw error
    }
  }

  /** All tenants that were not tried in this night, in the order of their ids. */
  async #backUpOthers(): Promise<void> {
    for (let after = this.#status.after; after !== null;) {
      const page = await listTenantsAfter(this.#env.DB, after, pageSize)
      for (const tenant of page) {
        await this.#backUp(tenant)
        await this.#save({ after: tenant.id })
      }
      after = page.length < pageSize ? null : (page.at(-1)?.id ?? null)
    }
    await this.#save({ after: null })
  }

  async #retryFailed(): Promise<void> {
    const ids = Object.keys(this.#status.failed)
    const tenants = ids.length ? await findTenants(this.#env.DB, ids) : []
    for (const id of ids) {
      const tenant = tenants.find((one) => one.id === id)
      if (tenant) await this.#backUp(tenant)
      else this.#note(id, undefined)
      await this.#save({})
    }
  }

  async #backUp(tenant: NamedTenant): Promise<void> {
    const { bucket, days } = this.#settings
    const { night, salt } = this.#status
    try {
      const archive = await NightArchive.open({ bucket, tenant, key: await this.#keyOf(tenant.id), salt, night })
      if (archive) await this.#fill(archive, tenant.id)
      await deleteOldNights({ bucket, days, now: clock.now() }, tenant.id, true)
      this.#note(tenant.id, undefined)
    } catch (error) {
      if (error instanceof Interruption) throw error
      const reason = error instanceof Error ? error.message : String(error)
      log.error('backup.failed', 'A tenant could not be backed up; it is tried again.', { error, tenant_id: tenant.id })
      this.#note(tenant.id, reason.slice(0, maxReasonChars))
    }
  }

  /** `failure` undefined: the tenant is done. */
  #note(id: string, failure: string | undefined): void {
    const { [id]: _earlier, ...others } = this.#status.failed
    const failed = failure === undefined ? others : { ...others, [id]: failure }
    this.#status = { ...this.#status, failed, done: this.#status.done + (failure === undefined ? 1 : 0) }
  }

  async #fill(archive: NightArchive, tenantId: string): Promise<void> {
    const operator = systemAuthority(ownerTenant, { kind: 'job', id: 'backup' }, ['admin', 'read'])
    const source: Source = { env: this.#env, tenantId, operator }
    try {
      await this.#storeSessions(archive, source)
      await this.#storeBlobs(archive, source)
      // Last, so that they name nothing that is missing.
      const { night } = this.#status
      await this.#store(archive, { name: 'rows', mark: night }, () => Promise.resolve(readRows(source)))
      await this.#store(archive, { name: 'state', mark: night }, () => readState(source))
      await archive.finish(clock.now())
    } catch (error) {
      await archive.savePage()
      throw error
    }
  }

  async #storeSessions(archive: NightArchive, source: Source): Promise<void> {
    for await (const { id, mark } of eachOf((page) => listSessions(source, page))) {
      const name = `session:${id}`
      if (archive.keep(name, mark)) {
        archive.keepCheckpoints(id)
        continue
      }
      // First, because a session that is stored is not looked at again.
      await this.#storeCheckpoints(archive, source, { id, mark })
      await this.#store(archive, { name, mark }, () => readSession(source, id))
      if (!archive.has(name)) archive.dropCheckpoints(id)
    }
  }

  async #storeCheckpoints(
    archive: NightArchive,
    source: Source,
    { id, mark }: { readonly id: string; readonly mark: string },
  ): Promise<void> {
    const found = await readCheckpoints(source, id)
    if (!found) return
    for (const key of found.keys) await this.#storeBlob(archive, source, { name: `kept:${key}`, key, mark: key })
    await this.#store(archive, { name: `checkpoints:${id}`, mark }, () => Promise.resolve(found.rows))
  }

  async #storeBlobs(archive: NightArchive, source: Source): Promise<void> {
    for await (const { key, etag } of eachOf((page) => listBlobs(source, page)))
      await this.#storeBlob(archive, source, { name: `blob:${key}`, key, mark: etag })
  }

  #storeBlob(archive: NightArchive, source: Source, { key, ...part }: NightPart & { readonly key: string }) {
    return this.#store(archive, part, async () => (await readBlob(source, key))?.body)
  }

  async #store(
    archive: NightArchive,
    { name, mark }: NightPart,
    open: () => Promise<ReadableStream<Uint8Array> | undefined>,
  ): Promise<void> {
    if (archive.keep(name, mark)) return
    if (clock.now() > this.#until || this.#partsLeft-- <= 0) throw new Interruption()
    const bytes = await open()
    if (bytes) await archive.store(name, mark, bytes)
  }

  async #finish(): Promise<void> {
    if (Object.keys(this.#status.failed).length) return
    const { night, done } = this.#status
    await this.#deleteOfLostTenants()
    const at = clock.now()
    await this.#save({ finishedAt: at, last: { night, at, tenants: done } })
  }

  /** Backups of tenants that were deleted stay until they are old. */
  async #deleteOfLostTenants(): Promise<void> {
    const { bucket, days } = this.#settings
    for (let cursor: string | undefined, isMore = true; isMore;) {
      const page: R2Objects = await bucket.list({ prefix: backupsPrefix, delimiter: '/', ...(cursor && { cursor }) })
      const ids = page.delimitedPrefixes.map((prefix) => prefix.slice(backupsPrefix.length, -1))
      const found = new Set((await findTenants(this.#env.DB, ids)).map(({ id }) => id))
      for (const id of ids) if (!found.has(id)) await deleteOldNights({ bucket, days, now: clock.now() }, id, false)
      isMore = page.truncated
      if (page.truncated) cursor = page.cursor
    }
  }

  /** A call that is killed loses what was not written yet; the lists of the night show which tenants are complete. */
  async #save(change: Partial<NightStatus>): Promise<void> {
    this.#status = { ...this.#status, ...change }
    if (clock.now() - this.#savedAt > minSaveMs) await this.#write()
  }

  /** Throws when another call has taken over. */
  async #write(): Promise<void> {
    const put = await this.#settings.bucket.put(statusKey, JSON.stringify(this.#status), {
      onlyIf: { etagMatches: this.#etag },
    })
    if (!put) throw new Interruption()
    this.#etag = put.etag
    this.#savedAt = clock.now()
  }
}

type NightPart = { readonly name: string; readonly mark: string }
const maxReasonChars = 300

async function* eachOf<T>(list: (page: { limit: number; cursor?: string }) => Promise<ListPage<T>>): AsyncGenerator<T> {
  for (let cursor: string | null = ''; cursor !== null;) {
    const page: ListPage<T> = await list({ limit: pageSize, ...(cursor && { cursor }) })
    yield* page.data
    cursor = page.next_cursor
  }
}

// The words of health.

/** A night that is not complete by then has failed. */
const dueMs = 12 * 3_600_000

export async function describeNights(env: Env): Promise<string> {
  const settings = readBackupSettings(env)
  if (settings === undefined) return 'off: BACKUP_PASSPHRASE is not set'
  if (typeof settings === 'string') return `failing: ${settings}`
  const status = await readNightStatus(settings)
  if (!status) return 'failing: none was made yet. The cron trigger of wrangler.toml begins one within ten minutes.'
  return describeStatus(status, { now: clock.now(), hour: settings.hour })
}

function describeStatus(status: NightStatus, at: { readonly now: number; readonly hour: number }): string {
  const { last, failed, night, done } = status
  const complete = last ? `last complete night ${last.night}, ${last.tenants} tenants` : 'no night is complete yet'
  const [first] = Object.entries(failed)
  if (first) return `failing: ${Object.keys(failed).length} tenants, first ${first[0]}: ${first[1]}; ${complete}`
  const current = nightAt(at.now, at.hour)
  if (last?.night === current) return complete
  const begun = Date.parse(current) + at.hour * 3_600_000
  // A first night that is begun late in the day has its time too.
  const isLate = at.now - begun > dueMs && (last !== undefined || night !== current)
  return `${isLate ? 'failing: the night is not complete' : 'running'}: ${night === current ? done : 0} tenants of ${current}; ${complete}`
}
