/**
 * Deletes tenants with everything they have: sessions, rows, files and the tenant's object, in this order. The object of
 * the owner's tenant has this part, because it survives. The alarm repeats a deletion until nothing is left.
 */

import { actorOf } from '#agent/core/permission/audit.ts'
import { type Authority, systemAuthority } from '#agent/core/permission/authority.ts'
import { ownerTenant } from '#db/schema.ts'
import { createTenantRemoval, type TenantRemoval } from '#db/delete-tenant.ts'
import { clock } from '#durable/platform/clock.ts'
import type { ScheduledPart } from '#durable/platform/part-schedule.ts'
import { type ChangeCheck, TenantPart } from './tenant-part.ts'
import { blobPrefix, sessionStub, sessionsBlobPrefix, tenantStub } from '#durable/platform/addresses.ts'

export type TenantDeletionsOptions = {
  readonly mayChange: ChangeCheck
  readonly sql: SqlStorage
  readonly env: Pick<Env, 'DB' | 'BLOBS' | 'SESSION' | 'TENANT'>
  readonly armAlarm: () => void
}

/** The reason with which the object of a deleted tenant ends. */
export const erasedMessage = 'The tenant was deleted.'

/** `marked`: the tombstone exists. A missing one then means that the deletion is complete. */
const schema = `CREATE TABLE IF NOT EXISTS tenant_deletion (tenant TEXT PRIMARY KEY, at INTEGER NOT NULL,
  marked INTEGER NOT NULL) WITHOUT ROWID`

type Deletion = { readonly tenant: string; readonly at: number; readonly marked: number }

const deletionJob = { kind: 'job', id: 'tenant-deletion' } as const
/** Acts for the operator in the objects of tenants, also after a restart: who asked for the deletion is in the audit log. */
const maintainer = systemAuthority(ownerTenant, deletionJob, ['admin'])
/** Longer than an isolate caches a key or a snapshot: until then an old request may still write. */
const minTombstoneMs = 35_000
/** Pause before the next look when nothing is left but the tombstone. */
const pauseMs = 5_000
const maxConcurrent = 10
const sessionsPerStep = 100

export class TenantDeletions extends TenantPart implements ScheduledPart {
  readonly #options: TenantDeletionsOptions
  #hasTable = false
  #wakeAt = 0

  constructor(options: TenantDeletionsOptions) {
    super(options.mayChange)
    this.#options = options
  }

  /** Begins to delete a tenant. False when there is none, or the authority is not the operator's. Repeating it changes nothing. */
  async start(authority: Authority, tenantId: string): Promise<boolean> {
    if (!this.mayChange(authority, 'admin')) return false
    // The intent first: after a crash the alarm marks the tenant.
    this.#sql.exec('INSERT INTO tenant_deletion VALUES (?, ?, 0) ON CONFLICT DO NOTHING', tenantId, clock.now())
    this.#wakeAt = clock.now()
    this.#options.armAlarm()
    return this.#mark(tenantId, actorOf(authority))
  }

  wakeAt(): number | undefined {
    return this.#list().length ? this.#wakeAt : undefined
  }

  /** Works on every deletion for one step. */
  async wake(): Promise<void> {
    this.#wakeAt = clock.now() + pauseMs
    const results = await Promise.allSettled(this.#list().map((deletion) => this.#continue(deletion)))
    const failed = results.find((result) => result.status === 'rejected')
    if (failed) throw failed.reason
    // There is more to delete now.
    if (results.some((result) => result.status === 'fulfilled' && result.value === 'more')) this.#wakeAt = clock.now()
  }

  async #mark(tenantId: string, actor = ''): Promise<boolean> {
    const exists = await this.#removalOf(tenantId).mark(clock.now(), actor)
    if (!exists) this.#sql.exec('DELETE FROM tenant_deletion WHERE tenant = ?', tenantId)
    else this.#sql.exec('UPDATE tenant_deletion SET marked = 1 WHERE tenant = ?', tenantId)
    // Requests and turns of the tenant end within seconds.
    if (exists) await tenantStub(this.#options.env, tenantId).access.startDeletion(maintainer)
    return exists
  }

  async #continue({ tenant, at, marked }: Deletion): Promise<'more' | 'wait' | 'done'> {
    if (!marked && !(await this.#mark(tenant))) return 'done'
    const removal = this.#removalOf(tenant)
    if (await removal.isMarked()) {
      const left = await this.#deleteStep(tenant, removal)
      if (left || clock.now() - at < minTombstoneMs) return left ? 'more' : 'wait'
      await erase(this.#options.env, tenant)
      await removal.finish()
    }
    this.#sql.exec('DELETE FROM tenant_deletion WHERE tenant = ?', tenant)
    return 'done'
  }

  /** Deletes a part of what is left. Returns whether there may be more. */
  async #deleteStep(tenant: string, removal: TenantRemoval): Promise<boolean> {
    const { env } = this.#options
    const { access } = tenantStub(env, tenant)
    await access.startDeletion(maintainer)
    const known = await access.listSessions(maintainer, sessionsPerStep)
    const stored = await removal.listSessions(sessionsPerStep)
    const sessions = new Set([...known, ...stored, ...(await listSessionsInBlobs(env.BLOBS, tenant, sessionsPerStep))])
    await this.#eraseSessions(tenant, [...sessions])
    await access.forgetSessions(maintainer, known)
    if (sessions.size) return true
    const hasRows = !(await removal.deleteRows())
    const hasBlobs = await deleteBlobs(env.BLOBS, tenant)
    return hasRows || hasBlobs
  }

  /** Rejects when a session could not be deleted, after all others were tried. */
  async #eraseSessions(tenant: string, sessions: readonly string[]): Promise<void> {
    const open = [...sessions]
    const failures: unknown[] = []
    const eraseNext = async () => {
      for (let id = open.pop(); id !== undefined; id = open.pop())
        await sessionStub(this.#options.env, tenant, id)
          .access.erase(systemAuthority(tenant, deletionJob))
          .catch((error: unknown) => failures.push(error))
    }
    await Promise.all(Array.from({ length: maxConcurrent }, eraseNext))
    if (failures.length) throw new Error(`${failures.length} sessions could not be deleted.`, { cause: failures[0] })
  }

  #removalOf(tenantId: string): TenantRemoval {
    return createTenantRemoval(this.#options.env, tenantId)
  }

  #list(): readonly Deletion[] {
    return this.#sql.exec<Deletion>('SELECT tenant, at, marked FROM tenant_deletion').toArray()
  }

  get #sql(): SqlStorage {
    if (!this.#hasTable) this.#options.sql.exec(schema)
    this.#hasTable = true
    return this.#options.sql
  }
}

/** Sessions that have files in R2, although history may not know them. */
async function listSessionsInBlobs(blobs: R2Bucket | undefined, tenant: string, limit: number): Promise<string[]> {
  const prefix = sessionsBlobPrefix(tenant)
  const found = await blobs?.list({ prefix, delimiter: '/', limit })
  return (found?.delimitedPrefixes ?? []).map((path) => path.slice(prefix.length, -1))
}

/** Deletes a page of the tenant's files. Returns whether there were any. */
async function deleteBlobs(blobs: R2Bucket | undefined, tenant: string): Promise<boolean> {
  const found = await blobs?.list({ prefix: blobPrefix(tenant) })
  if (!found?.objects.length) return false
  await blobs?.delete(found.objects.map(({ key }) => key))
  return true
}

/** The object aborts itself when it has deleted what it stored. */
async function erase(env: TenantDeletionsOptions['env'], tenant: string): Promise<void> {
  try {
    await tenantStub(env, tenant).erase(maintainer)
  } catch (error) {
    if (!(error instanceof Error && error.message.includes(erasedMessage))) throw error
  }
}
