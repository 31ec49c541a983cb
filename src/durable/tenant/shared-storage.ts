/**
 * Measures what a tenant stores in the stores that all tenants share: D1 and R2. Only while there is a limit on stored
 * bytes, and not at every write, because no write there passes this object.
 */

import type { Limits } from '#agent/core/settings.ts'
import { sumStoredBytes } from '#db/stored-bytes.ts'
import { clock } from '#durable/platform/clock.ts'
import type { ScheduledPart } from '#durable/platform/part-schedule.ts'
import type { StoredValues } from './stored-values.ts'
import { blobPrefix, sessionBlobPattern } from '#durable/platform/addresses.ts'

export type SharedStorageOptions = {
  readonly tenantId: string
  readonly values: StoredValues
  readonly env: Env
  readonly limits: () => Limits
  /** Bytes of the tenant in rows of its own object. */
  readonly ownBytes: () => number
  readonly armAlarm: () => void
}

/** `blobs`: without what sessions report. */
type Measured = { readonly at: number; readonly database: number; readonly blobs: number }

const intervalMs = 900_000
/** Of 1000 objects each. A tenant with more has at least what was counted. */
const maxPages = 500
/** Name of the stored value. */
const measuredName = 'shared bytes'

export class SharedStorage implements ScheduledPart {
  readonly #options: SharedStorageOptions

  constructor(options: SharedStorageOptions) {
    this.#options = options
  }

  /** The bytes that were measured last, without what sessions report. */
  bytes(): number {
    const measured = this.#measured()
    if (!measured) this.#options.armAlarm()
    return measured ? measured.database + measured.blobs + this.#options.ownBytes() : 0
  }

  wakeAt(): number | undefined {
    if (this.#options.limits().storage_bytes === undefined) return undefined
    const measured = this.#measured()
    return measured ? measured.at + intervalMs : clock.now()
  }

  async wake(now: number): Promise<void> {
    const { env, tenantId, values } = this.#options
    const [database, blobs] = await Promise.all([sumStoredBytes(env, tenantId), sumBlobs(env.BLOBS, tenantId)])
    values.set(measuredName, { at: now, database, blobs } satisfies Measured)
  }

  #measured(): Measured | undefined {
    return this.#options.values.get<Measured>(measuredName)
  }
}

/** Workspace files and checkpoints: every session reports its own (storage-usage.ts). */
const reportedKey = sessionBlobPattern(['files', 'checkpoints'])

async function sumBlobs(blobs: R2Bucket | undefined, tenantId: string): Promise<number> {
  let [sum, cursor] = [0, undefined as string | undefined]
  for (let page = 0; page < maxPages; page++) {
    const found = await blobs?.list({ prefix: blobPrefix(tenantId), ...(cursor !== undefined && { cursor }) })
    for (const { key, size } of found?.objects ?? []) if (!reportedKey.test(key)) sum += size
    if (!found?.truncated) break
    cursor = found.cursor
  }
  return sum
}
