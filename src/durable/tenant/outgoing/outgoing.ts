/** Reaches the rows of outgoing webhooks (outgoing-rows.ts), whose code is loaded with the first call or delivery. */

import type { Authority } from '#agent/core/permission/authority.ts'
import type { ScheduledPart } from '#durable/platform/part-schedule.ts'
import { LoadedTenantPart } from '../tenant-part.ts'
import type { OutgoingOptions, OutgoingRows } from './outgoing-rows.ts'
import { nextName, type OutgoingMethod, wantedName } from './outgoing-row.ts'

/** The answers of a tenant that never had a webhook, and gets no tables for a question. */
const answersWithout: Readonly<Partial<Record<OutgoingMethod, unknown>>> = {
  list: [],
  listSealed: [],
  update: false,
  remove: false,
  rotate: false,
  reseal: false,
  retry: 'unknown',
}

export class TenantOutgoing extends LoadedTenantPart<OutgoingRows, OutgoingMethod> {
  readonly #values: OutgoingOptions['values']

  constructor(options: OutgoingOptions) {
    super(options.mayChange, async () => new (await import('./outgoing-rows.ts')).OutgoingRows(options))
    this.#values = options.values
  }

  /** The events that sessions report. Undefined: there is no active hook. */
  readonly wanted = (): readonly string[] | undefined =>
    this.#values.get<readonly string[] | null>(wantedName) ?? undefined

  readonly part: ScheduledPart = {
    wakeAt: () => this.#values.get<number | null>(nextName) ?? undefined,
    wake: async (now) => (await this.loaded()).send(now),
  }

  override async run(authority: Authority, method: OutgoingMethod, given: unknown[]): Promise<unknown> {
    const hadHooks = this.#values.get(wantedName) !== undefined
    if (hadHooks || method === 'create') return super.run(authority, method, given)
    this.requireOwn(authority)
    return answersWithout[method]
  }
}
