/** Stores the sealed provider keys that a tenant pays for itself. */

import { RpcTarget } from 'cloudflare:workers'
import { actorOf } from '../../agent/model/audit.ts'
import type { Authority } from '../../agent/model/authority.ts'
import {
  type AddResult,
  type Credential,
  type StoredCredentials,
  type SealedKeys,
  sealedKeys,
  withCredential,
  withoutCredential,
} from '../models/credentials.ts'
import type { StoredKeyHealth } from '../models/key-pool.ts'
import { clock } from '../platform/clock.ts'
import type { TenantAudit } from './audit.ts'
import type { TenantKeyHealth } from './key-health.ts'
import type { ChangeCheck } from './own-tenant.ts'
import type { StoredValues } from './stored-values.ts'

export class TenantCredentials extends RpcTarget {
  readonly #values: StoredValues
  readonly #keyHealth: TenantKeyHealth
  readonly #audit: TenantAudit
  readonly #mayChange: ChangeCheck

  constructor(mayChange: ChangeCheck, values: StoredValues, keyHealth: TenantKeyHealth, audit: TenantAudit) {
    super()
    this.#mayChange = mayChange
    this.#audit = audit
    this.#values = values
    this.#keyHealth = keyHealth
  }

  /** All credentials, oldest first, with the health of all keys. */
  list(): { readonly list: readonly Credential[]; readonly health: StoredKeyHealth } {
    return { list: this.#stored()?.list ?? [], health: this.#keyHealth.list() }
  }

  /** `foreign`: the authority is for another tenant, or may not write. */
  add(authority: Authority, credential: Credential): AddResult | 'foreign' {
    if (!this.#mayChange(authority, 'write')) return 'foreign'
    const { result, stored } = withCredential(this.#stored() ?? noCredentials, credential)
    if (!stored) return result
    this.#store(stored)
    const { id: subject, provider, name, lastFour } = credential
    const details = { provider, name, last_four: lastFour }
    this.#audit.add({ at: clock.now(), kind: 'credential.added', actor: actorOf(authority), subject, details })
    return result
  }

  /** Replaces the sealed text of a credential, unless it has changed meanwhile. Its key stays the same. */
  reseal({ id, before, sealed, mark }: Resealed): boolean {
    const stored = this.#stored() ?? noCredentials
    if (!stored.list.some((one) => one.id === id && one.sealed === before)) return false
    const list = stored.list.map((one) => (one.id === id ? { ...one, sealed, mark } : one))
    this.#store({ revision: stored.revision + 1, list })
    return true
  }

  /** Returns whether there was a credential of this id. */
  remove(authority: Authority, id: string): boolean {
    if (!this.#mayChange(authority, 'write')) return false
    const removed = this.#stored()?.list.find((credential) => credential.id === id)
    const left = withoutCredential(this.#stored() ?? noCredentials, id)
    if (!left) return false
    this.#store(left)
    this.#keyHealth.remove(id)
    const details = { provider: removed?.provider, last_four: removed?.lastFour }
    const event = { kind: 'credential.removed', actor: actorOf(authority), subject: id, details } as const
    this.#audit.add({ at: clock.now(), ...event })
    return true
  }

  /** The keys as a snapshot carries them; undefined when the tenant never had one. */
  sealed(): SealedKeys | undefined {
    return sealedKeys(this.#stored())
  }

  /** The revision is a time, so that it also grows when a tenant is deleted and created again. */
  #store({ revision, list }: StoredCredentials): void {
    this.#values.set('credentials', { revision: Math.max(revision, clock.now()), list })
  }

  #stored(): StoredCredentials | undefined {
    return this.#values.get<StoredCredentials>('credentials')
  }
}

type Resealed = Pick<Credential, 'id' | 'sealed' | 'mark'> & { readonly before: string }

const noCredentials: StoredCredentials = { revision: 0, list: [] }
