/** Runs the batches of a tenant. The code is loaded with the first call, and when a prompt is due. */

import type { ScheduledPart } from '#durable/platform/part-schedule.ts'
import { LoadedTenantPart } from '../tenant-part.ts'
import { type BatchMethod, nextName } from './batch.ts'
import type { BatchesOptions, BatchRunner } from './batch-runner.ts'

export class TenantBatches extends LoadedTenantPart<BatchRunner, BatchMethod> {
  readonly #values: BatchesOptions['values']

  constructor(options: BatchesOptions) {
    super(options.mayChange, async () => new (await import('./batch-runner.ts')).BatchRunner(options))
    this.#values = options.values
  }

  readonly part: ScheduledPart = {
    wakeAt: () => this.#values.get<number | null>(nextName) ?? undefined,
    wake: async () => (await this.loaded()).wake(),
  }
}
