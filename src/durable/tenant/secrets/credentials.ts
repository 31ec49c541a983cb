/** Stores the sealed provider keys that a tenant pays for itself. */

import type { Authority } from '#agent/core/permission/authority.ts'
import {
  type AddResult,
  type Credential,
  type StoredCredentials,
  type SealedKeys,
  sealedKeys,
  withCredential,
  withoutCredential,
} from '#durable/models/credentials.ts'
import type { StoredKeyHealth } from '#durable/models/key-pool.ts'
import { clock } from '#durable/platform/clock.ts'
import type { TenantAudit } from '../audit.ts'
import type { TenantKeyHealth } from './key-health.ts'
import { type ChangeCheck, TenantPart } from '../tenant-part.ts'
import type { Renewals, RenewAnswer } from '../subscriptions/renew-tokens.ts'
import type { StoredValues } from '../stored-values.ts'

type CredentialParts = {
  readonly env: Env
  readonly values: StoredValues
  readonly keyHealth: TenantKeyHealth
  readonly audit: TenantAudit
}

export class TenantCredentials extends TenantPart {
  readonly #values: StoredValues
  readonly #keyHealth: TenantKeyHealth
  readonly #audit: TenantAudit
  readonly #renewals: Renewals

  constructor(mayChange: ChangeCheck, { env, values, keyHealth, audit }: CredentialParts) {
    super(mayChange)
    this.#renewals = {
      env,
      values,
      running: new Map(),
      find: (id) => this.#stored()?.list.find((one) => one.id === id),
      replace: (id, sealed) => this.#replaceSealed(id, sealed),
    }
    this.#audit = audit
    this.#values = values
    this.#keyHealth = keyHealth
  }

  /** All credentials, oldest first, with the health of all keys. */
  list(authority: Authority): { readonly list: readonly Credential[]; readonly health: StoredKeyHealth } {
    this.requireOwn(authority)
    return { list: this.#stored()?.list ?? [], health: this.#keyHealth.list() }
  }

  /** `foreign`: the authority is for another tenant, or may not write. `replaced`: credentials that this one replaces. */
  add(authority: Authority, credential: Credential, replaced: readonly string[] = []): AddResult | 'foreign' {
    if (!this.mayChange(authority, 'write')) return 'foreign'
    const { revision, list } = this.#stored() ?? noCredentials
    const left = list.filter(({ id }) => !replaced.includes(id))
    const { result, stored } = withCredential({ revision, list: left }, credential)
    if (!stored) return result
    this.#store(stored)
    for (const id of replaced) this.#keyHealth.remove(authority, id)
    const { id: subject, provider, name, lastFour } = credential
    const details = { provider, name, last_four: lastFour }
    this.#audit.add(authority, { kind: 'credential.added', subject, details })
    return result
  }

  /** For the operator: replaces the sealed text of a credential, unless it has changed meanwhile. Its key stays the same. */
  reseal(authority: Authority, { id, before, sealed, mark }: ResealedCredential): boolean {
    if (!this.mayChange(authority, 'admin')) return false
    const stored = this.#stored() ?? noCredentials
    if (!stored.list.some((one) => one.id === id && one.sealed === before)) return false
    const list = stored.list.map((one) => (one.id === id ? { ...one, sealed, mark } : one))
    this.#store({ revision: stored.revision + 1, list })
    return true
  }

  /** Renews the tokens of a subscription, once for all that ask. `seen`: the sealed tokens that the caller has. */
  async renew(authority: Authority, id: string, seen: string): Promise<RenewAnswer> {
    this.requireOwn(authority)
    const { renewTokens } = await import('../subscriptions/renew-tokens.ts')
    return renewTokens(this.#renewals, { tenantId: authority.tenantId, id, seen })
  }

  #replaceSealed(id: string, sealed: string): void {
    const { revision, list } = this.#stored() ?? noCredentials
    this.#store({ revision: revision + 1, list: list.map((one) => (one.id === id ? { ...one, sealed } : one)) })
  }

  /** Returns whether there was a credential of this id. */
  remove(authority: Authority, id: string): boolean {
    if (!this.mayChange(authority, 'write')) return false
    const removed = this.#stored()?.list.find((credential) => credential.id === id)
    const left = withoutCredential(this.#stored() ?? noCredentials, id)
    if (!left) return false
    this.#store(left)
    this.#keyHealth.remove(authority, id)
    const details = { provider: removed?.provider, last_four: removed?.lastFour }
    this.#audit.add(authority, { kind: 'credential.removed', subject: id, details })
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

type ResealedCredential = Pick<Credential, 'id' | 'sealed' | 'mark'> & { readonly before: string }

const noCredentials: StoredCredentials = { revision: 0, list: [] }
