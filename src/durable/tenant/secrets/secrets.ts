/** Stores the sealed secrets that a tenant grants to commands by name. */

import type { Authority } from '#agent/core/permission/authority.ts'
import { maxSecrets } from '#agent/core/secrets/secret-name.ts'
import { clock } from '#durable/platform/clock.ts'
import type { SealedSecrets, StoredSecrets, TenantSecret } from '#durable/platform/tenant-secrets.ts'
import type { TenantAudit } from '../audit.ts'
import { type ChangeCheck, TenantPart } from '../tenant-part.ts'
import type { StoredValues } from '../stored-values.ts'

export class TenantSecrets extends TenantPart {
  readonly #values: StoredValues
  readonly #audit: TenantAudit

  constructor(mayChange: ChangeCheck, values: StoredValues, audit: TenantAudit) {
    super(mayChange)
    this.#values = values
    this.#audit = audit
  }

  /** All secrets, oldest first. */
  list(authority: Authority): readonly TenantSecret[] {
    this.requireOwn(authority)
    return this.#list()
  }

  #list(): readonly TenantSecret[] {
    return this.#stored()?.list ?? []
  }

  /** Stores a secret in place of one of the same name. `foreign`: the authority may not change policy of this tenant. */
  put(authority: Authority, secret: TenantSecret): 'stored' | 'full' | 'foreign' {
    if (!this.mayChange(authority, 'approve')) return 'foreign'
    const others = this.#list().filter(({ name }) => name !== secret.name)
    if (others.length >= maxSecrets) return 'full'
    const details = { last_four: secret.lastFour, replaced: others.length < this.#list().length }
    this.#store([...others, secret])
    this.#audit.add(authority, { kind: 'secret.added', subject: secret.name, details })
    return 'stored'
  }

  /** For the operator: replaces the sealed text of a secret, unless it has changed meanwhile. Its value stays the same. */
  reseal(authority: Authority, { name, before, sealed }: ResealedSecret): boolean {
    if (!this.mayChange(authority, 'admin')) return false
    if (!this.#list().some((one) => one.name === name && one.sealed === before)) return false
    this.#store(this.#list().map((one) => (one.name === name ? { ...one, sealed } : one)))
    return true
  }

  /** Returns whether there was a secret of this name. */
  remove(authority: Authority, name: string): boolean {
    if (!this.mayChange(authority, 'approve')) return false
    const removed = this.#list().find((one) => one.name === name)
    if (!removed) return false
    this.#store(this.#list().filter((one) => one.name !== name))
    const details = { last_four: removed.lastFour }
    this.#audit.add(authority, { kind: 'secret.removed', subject: name, details })
    return true
  }

  /** The secrets as a snapshot carries them; undefined when the tenant never had one. */
  sealed(): SealedSecrets | undefined {
    const stored = this.#stored()
    return stored && { revision: stored.revision, list: stored.list.map(({ name, sealed }) => ({ name, sealed })) }
  }

  #stored(): StoredSecrets | undefined {
    return this.#values.get<StoredSecrets>('secrets')
  }

  /** The revision is a time, so that it also grows when a tenant is deleted and created again. */
  #store(list: readonly TenantSecret[]): void {
    const revision = Math.max((this.#stored()?.revision ?? 0) + 1, clock.now())
    this.#values.set('secrets', { revision, list })
  }
}

type ResealedSecret = Pick<TenantSecret, 'name' | 'sealed'> & { readonly before: string }
