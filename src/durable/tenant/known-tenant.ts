/**
 * What a session knows of its tenant: as the last request brought it along. Turns that no request began ask anew when
 * that is long ago, so that they too go by the settings and the keys of now.
 */

import type { Perform } from '../../agent/model/ports.ts'
import type { Limits } from '../../agent/model/settings.ts'
import { noKeys, openKeys, type TenantKeys } from '../models/credentials.ts'
import { isOwnReset } from '../platform/object-reset.ts'
import { freshMs, sharing, type TenantSnapshot, tenantSnapshot } from './tenant-snapshot.ts'
import { clock } from '../platform/clock.ts'

export class KnownTenant {
  snapshot: TenantSnapshot | undefined
  keys: TenantKeys = noKeys
  readonly #env: Env
  readonly #id: string
  #at = 0
  #turn = ''

  constructor(env: Env, id: string) {
    this.#env = env
    this.#id = id
  }

  get limits(): Limits | undefined {
    return this.snapshot?.limits
  }

  /** The keys first: whoever sees the snapshot begins. */
  async know(snapshot: TenantSnapshot): Promise<void> {
    this.keys = await openKeys(this.#env, snapshot)
    this.snapshot = sharing(snapshot)
    this.#at = clock.now()
  }

  /** After a wake-up without a request, the tenant has to be asked for. */
  async ensure(): Promise<void> {
    if (!this.snapshot) await this.know(await tenantSnapshot(this.#env, this.#id))
  }

  /** False when the tenant cannot be asked now: the alarm that is set tries again. */
  async canBeKnown(): Promise<boolean> {
    try {
      await this.ensure()
      return true
    } catch (error) {
      if (isOwnReset(error)) throw error
      console.warn('The tenant cannot be asked; it will be tried again.', error)
      return false
    }
  }

  /** Whether this turn begins with what may have changed. Says so once for each turn. */
  isOldFor(turn: string): boolean {
    const isNew = turn !== this.#turn
    this.#turn = turn
    return isNew && clock.now() - this.#at > freshMs
  }

  /** While the tenant is away, what is known goes on holding. */
  async renew(): Promise<void> {
    try {
      await this.know(await tenantSnapshot(this.#env, this.#id))
    } catch (error) {
      console.warn('The tenant cannot be asked; what was known of it holds.', error)
    }
  }
}

type Session = { readonly known: KnownTenant; readonly driver: { readonly abortable: () => AbortController } }

/** Before the first call of a turn that waited, or that nobody asked for at the door. */
export const knowingTenant = (session: Session, perform: Perform): Perform =>
  async function* (step, turn) {
    if (step.do === 'call-model' && session.known.isOldFor(turn.id)) {
      const { signal } = session.driver.abortable()
      await session.known.renew()
      if (signal.aborted) return yield { of: 'failure', failure: { kind: 'aborted', message: '' } }
    }
    yield* perform(step, turn)
  }
