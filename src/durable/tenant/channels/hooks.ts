/** Limits how often each generic webhook of a tenant begins something. */

import type { Authority } from '#agent/core/permission/authority.ts'
import { clock } from '#durable/platform/clock.ts'
import { TenantPart } from '../tenant-part.ts'

const maxPerMinute = 30
const minuteMs = 60_000

export class TenantHooks extends TenantPart {
  /** Times of the last minute, by webhook. In memory: an eviction may admit some more. */
  readonly #times = new Map<string, readonly number[]>()

  /** Counts a verified request. Returns the seconds to wait when there were too many. */
  admit(authority: Authority, webhook: string): number | undefined {
    this.requireOwn(authority)
    const now = clock.now()
    const times = (this.#times.get(webhook) ?? []).filter((at) => at > now - minuteMs)
    const [first] = times
    const isFull = times.length >= maxPerMinute
    this.#times.set(webhook, isFull ? times : [...times, now])
    return isFull && first !== undefined ? Math.max(1, Math.ceil((first + minuteMs - now) / 1_000)) : undefined
  }
}
