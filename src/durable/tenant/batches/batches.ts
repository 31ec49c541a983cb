/** Runs the batches of a tenant. The code is loaded with the first call, and when a prompt is due. */

import type { Authority } from '#agent/core/permission/authority.ts'
import type { ScheduledPart } from '#durable/platform/part-schedule.ts'
import { TenantPart } from '../tenant-part.ts'
import { type BatchMethod, nextName } from './batch.ts'
import type { BatchesOptions, BatchRunner } from './batch-runner.ts'

export class TenantBatches extends TenantPart {
  readonly #options: BatchesOptions
  #runner: BatchRunner | undefined

  constructor(options: BatchesOptions) {
    super(options.mayChange)
    this.#options = options
  }

  readonly part: ScheduledPart = {
    wakeAt: () => this.#options.values.get<number | null>(nextName) ?? undefined,
    wake: async () => (await this.#load()).wake(),
  }

  /** The methods check further scopes. */
  async run(authority: Authority, method: BatchMethod, given: unknown[]): Promise<unknown> {
    this.requireOwn(authority)
    const runner = await this.#load()
    const call = runner[method] as (...args: readonly unknown[]) => unknown
    return call.call(runner, authority, ...given)
  }

  async #load(): Promise<BatchRunner> {
    const { BatchRunner: Runner } = await import('./batch-runner.ts')
    return (this.#runner ??= new Runner(this.#options))
  }
}
