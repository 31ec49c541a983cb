/**
 * Deletes sessions that have been inactive for longer than `sessions.retention_days`. The directory in D1 says which:
 * sessions that rest are not woken to find out, so ten thousand of them cost one query a day.
 */

import type { HistoryDb } from '#db/shards/sharded-database.ts'
import { log } from '#agent/core/log.ts'
import { type Authority, systemAuthority } from '#agent/core/permission/authority.ts'
import type { Settings } from '#agent/core/settings.ts'
import { type InactivePosition, listInactiveSessions } from '#db/inactive-sessions.ts'
import { clock } from '#durable/platform/clock.ts'
import type { ScheduledPart } from '#durable/platform/part-schedule.ts'
import type { StoredValues } from './stored-values.ts'

export type RetentionOptions = {
  readonly tenantId: string
  readonly values: StoredValues
  readonly db: HistoryDb
  readonly settings: () => Settings
  readonly blobs: R2Bucket | undefined
  /** Deletes a session unless it was active since, or works by itself. */
  readonly prune: (authority: Authority, sessionId: string, before: number) => Promise<unknown>
}

type RetentionProgress = { readonly nextAt: number; readonly after: InactivePosition }

const dayMs = 86_400_000
const pageSize = 50
/** Between two pages, so that other work of the object goes on. */
const pagePauseMs = 5_000
const progressName = 'retention'
const start: InactivePosition = { day: 0, id: '' }

export class TenantRetention implements ScheduledPart {
  readonly #options: RetentionOptions

  constructor(options: RetentionOptions) {
    this.#options = options
  }

  wakeAt(): number | undefined {
    if (this.#days() === undefined && this.#trajectoryDays() === undefined) return undefined
    return this.#options.values.get<RetentionProgress>(progressName)?.nextAt ?? clock.now()
  }

  /** One page at a time. A session that cannot be deleted now is tried again on the next day. */
  async wake(now: number): Promise<void> {
    const { values, tenantId, blobs } = this.#options
    const days = this.#days()
    const after = values.get<RetentionProgress>(progressName)?.after ?? start
    const trajectoryDays = after.id === start.id ? this.#trajectoryDays() : undefined
    if (trajectoryDays !== undefined) {
      const { deleteTrajectories, trajectoryOutcomes, trajectoryPrefix } = await import('./trajectories.ts')
      for (const outcome of trajectoryOutcomes)
        await deleteTrajectories(blobs, trajectoryPrefix(tenantId, outcome), { before: now - trajectoryDays * dayMs })
    }
    const last = days === undefined ? undefined : await this.#prunePage(now - days * dayMs, after)
    const next = last ? { nextAt: now + pagePauseMs, after: last } : { nextAt: now + dayMs, after: start }
    values.set(progressName, next satisfies RetentionProgress)
  }

  /** Returns the last one of a full page. */
  async #prunePage(before: number, after: InactivePosition): Promise<InactivePosition | undefined> {
    const { db, tenantId, prune } = this.#options
    const page = await listInactiveSessions(db, tenantId, { before, after, limit: pageSize })
    const authority = systemAuthority(tenantId, { kind: 'job', id: 'retention' }, ['write'])
    const results = await Promise.allSettled(page.map(({ id }) => prune(authority, id, before)))
    for (const result of results)
      if (result.status === 'rejected')
        log.warn('session.unpruned', 'An inactive session could not be deleted; it is tried again tomorrow.', {
          error: result.reason as unknown,
        })
    return page.length === pageSize ? page.at(-1) : undefined
  }

  #days(): number | undefined {
    return this.#options.settings().sessions?.retention_days
  }

  #trajectoryDays(): number | undefined {
    return this.#options.settings().sessions?.trajectory_days
  }
}
