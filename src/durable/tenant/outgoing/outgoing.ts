/** Reaches the rows of outgoing webhooks (outgoing-rows.ts), whose code is loaded with the first call or delivery. */

import type { Authority } from '#agent/core/permission/authority.ts'
import type { ScheduledPart } from '#durable/platform/part-schedule.ts'
import { TenantPart } from '../tenant-part.ts'
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

export class TenantOutgoing extends TenantPart {
  readonly #options: OutgoingOptions
  #rows: OutgoingRows | undefined

  constructor(options: OutgoingOptions) {
    super(options.mayChange)
    this.#options = options
  }

  /** The events that sessions report. Undefined: there is no active hook. */
  readonly wanted = (): readonly string[] | undefined =>
    this.#options.values.get<readonly string[] | null>(wantedName) ?? undefined

  readonly part: ScheduledPart = {
    wakeAt: () => this.#options.values.get<number | null>(nextName) ?? undefined,
    wake: async (now) => (await this.#load()).send(now),
  }

  /** The methods check further scopes. */
  async run(authority: Authority, method: OutgoingMethod, given: unknown[]): Promise<unknown> {
    this.requireOwn(authority)
    const hadHooks = this.#options.values.get(wantedName) !== undefined
    if (!hadHooks && method !== 'create') return answersWithout[method]
    const rows = await this.#load()
    const call = rows[method] as (...args: readonly unknown[]) => unknown
    return call.call(rows, authority, ...given)
  }

  async #load(): Promise<OutgoingRows> {
    const { OutgoingRows: Rows } = await import('./outgoing-rows.ts')
    return (this.#rows ??= new Rows(this.#options))
  }
}
