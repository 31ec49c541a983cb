/**
 * Archives skills that nobody has used or changed for ninety days. An archived skill keeps its files and can be restored.
 * Also deletes contents in R2 that no skill uses, as a crash between two writes may leave them.
 */

import { clock } from '#durable/platform/clock.ts'
import type { ScheduledPart } from '../alarm.ts'
import type { StoredValues } from '../stored-values.ts'
import { archiveAfterMs, canBecomeStale, lastActivity } from './skill-summary.ts'
import type { SkillRecord, SkillRows } from './skill-rows.ts'

const intervalMs = 86_400_000
/** Name of the stored value: when the curator ran last. */
const ranAtName = 'skills curated'

export type CuratorOptions = {
  readonly rows: SkillRows
  readonly values: StoredValues
  /** Called in the same synchronous stretch as each change. */
  readonly onArchive: (record: SkillRecord) => void
}

export class SkillCurator implements ScheduledPart {
  readonly #options: CuratorOptions

  constructor(options: CuratorOptions) {
    this.#options = options
  }

  /** At most once a day, and never for a tenant without skills that can become stale. */
  wakeAt(): number | undefined {
    const { rows, values } = this.#options
    const times = rows
      .list()
      .filter(canBecomeStale)
      .map((record) => lastActivity(record) + archiveAfterMs)
    if (times.length === 0) return undefined
    return Math.max(Math.min(...times), (values.get<number>(ranAtName) ?? 0) + intervalMs)
  }

  async wake(now: number): Promise<void> {
    const { rows, values, onArchive } = this.#options
    values.set(ranAtName, now)
    for (const record of rows.list().filter(canBecomeStale)) {
      if (now - lastActivity(record) < archiveAfterMs) continue
      const archived = { ...record, archivedAt: clock.now() }
      rows.update(archived)
      onArchive(archived)
    }
    await rows.deleteUnused(now - intervalMs)
  }
}
