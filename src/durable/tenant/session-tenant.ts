/**
 * Holds the tenant's snapshot and keys for a session. Each request brings a snapshot; a turn without a request loads a
 * new one when the last one is too old.
 */

import type { Perform } from '../../agent/model/ports.ts'
import type { Limits } from '../../agent/model/settings.ts'
import { noKeys, openKeys, type TenantKeys } from '../models/credentials.ts'
import { isOwnReset } from '../platform/object-reset.ts'
import { snapshotMaxAgeMs, shareSettings, type TenantSnapshot, fetchTenantSnapshot } from './tenant-snapshot.ts'
import { clock } from '../platform/clock.ts'

export class SessionTenant {
  snapshot: TenantSnapshot | undefined
  keys: TenantKeys = noKeys
  readonly #env: Env
  readonly #id: string
  #loadedAt = 0
  #lastTurnId = ''

  constructor(env: Env, id: string) {
    this.#env = env
    this.#id = id
  }

  get limits(): Limits | undefined {
    return this.snapshot?.limits
  }

  /** Replaces the snapshot. The keys are set first, because a turn starts as soon as there is a snapshot. */
  async update(snapshot: TenantSnapshot): Promise<void> {
    this.keys = await openKeys(this.#env, snapshot)
    this.snapshot = shareSettings(snapshot)
    this.#loadedAt = clock.now()
  }

  /** Loads the snapshot after a wake-up without a request. */
  async load(): Promise<void> {
    if (!this.snapshot) await this.update(await fetchTenantSnapshot(this.#env, this.#id))
  }

  /** Loads the snapshot. False when the tenant cannot be reached: the alarm that is set retries. */
  async tryLoad(): Promise<boolean> {
    try {
      await this.load()
      return true
    } catch (error) {
      if (isOwnReset(error)) throw error
      console.warn('The tenant cannot be reached; the alarm will retry.', error)
      return false
    }
  }

  /** Whether the snapshot is too old for a new turn. True at most once for each turn. */
  needsRefresh(turn: string): boolean {
    const isNew = turn !== this.#lastTurnId
    this.#lastTurnId = turn
    return isNew && clock.now() - this.#loadedAt > snapshotMaxAgeMs
  }

  /** Loads a new snapshot. The old one stays in use while the tenant cannot be reached. */
  async refresh(): Promise<void> {
    try {
      await this.update(await fetchTenantSnapshot(this.#env, this.#id))
    } catch (error) {
      console.warn('The tenant cannot be reached; the last snapshot stays in use.', error)
    }
  }
}

type Session = { readonly tenant: SessionTenant; readonly driver: { readonly abortable: () => AbortController } }

/** Refreshes the tenant before the first model call of a turn that was queued or that no request started. */
export const withFreshTenant = (session: Session, perform: Perform): Perform =>
  async function* (step, turn) {
    if (step.do === 'call-model' && session.tenant.needsRefresh(turn.id)) {
      const { signal } = session.driver.abortable()
      await session.tenant.refresh()
      if (signal.aborted) return yield { of: 'failure', failure: { kind: 'aborted', message: '' } }
    }
    yield* perform(step, turn)
  }
