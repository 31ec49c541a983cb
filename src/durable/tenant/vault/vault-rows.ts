/** Stores the vault of a tenant (logins, one-time secrets, addresses) and the profiles of its browsers, both sealed. */

import type { Authority } from '#agent/core/permission/authority.ts'
import type { TenantAudit } from '../audit.ts'
import type { StoredValues } from '../stored-values.ts'
import type { ChangeCheck } from '../tenant-part.ts'
import { type BrowserProfile, maxProfiles, maxVaultEntries, type VaultEntry, type VaultView } from './vault-entry.ts'

export type VaultOptions = {
  readonly mayChange: ChangeCheck
  readonly values: StoredValues
  readonly audit: TenantAudit
}

type Sites = Pick<VaultView, 'origins' | 'unasked'>
type Resealed = { readonly name: string; readonly before: string; readonly sealed: string }

export class VaultRows {
  readonly #options: VaultOptions

  constructor(options: VaultOptions) {
    this.#options = options
  }

  list(_authority: Authority): readonly VaultEntry[] {
    return this.#options.values.get<readonly VaultEntry[]>('vault') ?? []
  }

  /** Stores an entry in place of one of the same name. */
  put(authority: Authority, entry: VaultEntry): 'stored' | 'full' | 'foreign' {
    if (!this.#options.mayChange(authority, 'approve')) return 'foreign'
    const others = this.list(authority).filter(({ name }) => name !== entry.name)
    if (others.length >= maxVaultEntries) return 'full'
    this.#store([...others, entry])
    const { name, fields, origins, unasked } = entry
    this.#options.audit.add(authority, { kind: 'vault.added', subject: name, details: { fields, origins, unasked } })
    return 'stored'
  }

  /** Changes the sites of an entry. Undefined: there is none of this name. */
  change(authority: Authority, name: string, sites: Sites): VaultEntry | undefined {
    if (!this.#options.mayChange(authority, 'approve')) return undefined
    const found = this.list(authority).find((one) => one.name === name)
    if (!found) return undefined
    const changed = { ...found, ...sites }
    this.#store(this.list(authority).map((one) => (one.name === name ? changed : one)))
    this.#options.audit.add(authority, { kind: 'vault.changed', subject: name, details: sites })
    return changed
  }

  remove(authority: Authority, name: string): boolean {
    if (!this.#options.mayChange(authority, 'approve')) return false
    const rest = this.list(authority).filter((one) => one.name !== name)
    if (rest.length === this.list(authority).length) return false
    this.#store(rest)
    this.#options.audit.add(authority, { kind: 'vault.removed', subject: name })
    return true
  }

  /** For the operator: the values stay the same. */
  reseal(authority: Authority, { name, before, sealed }: Resealed): boolean {
    if (!this.#options.mayChange(authority, 'admin')) return false
    const list = this.list(authority)
    if (!list.some((one) => one.name === name && one.sealed === before)) return false
    this.#store(list.map((one) => (one.name === name ? { ...one, sealed } : one)))
    return true
  }

  #store(list: readonly VaultEntry[]): void {
    this.#options.values.set('vault', list)
  }

  // Profiles: one value each, because their cookies may be many.

  listProfiles(_authority: Authority): readonly Omit<BrowserProfile, 'sealed'>[] {
    return this.#profiles().map(({ name, savedAt }) => ({ name, savedAt }))
  }

  profile(_authority: Authority, name: string): BrowserProfile | undefined {
    return this.#profiles().some((one) => one.name === name)
      ? (this.#options.values.get<BrowserProfile | null>(profileName(name)) ?? undefined)
      : undefined
  }

  /** Called by sessions that use the profile. */
  putProfile(_authority: Authority, profile: BrowserProfile): boolean {
    const { name, savedAt } = profile
    const others = this.#profiles().filter((one) => one.name !== name)
    if (others.length >= maxProfiles) return false
    this.#options.values.set(profileName(name), profile)
    this.#options.values.set('browser profiles', [...others, { name, savedAt }])
    return true
  }

  removeProfile(authority: Authority, name: string): boolean {
    if (!this.#options.mayChange(authority, 'approve')) return false
    const others = this.#profiles().filter((one) => one.name !== name)
    if (others.length === this.#profiles().length) return false
    this.#options.values.set('browser profiles', others)
    this.#options.values.set(profileName(name), null)
    this.#options.audit.add(authority, { kind: 'vault.removed', subject: name, details: { profile: true } })
    return true
  }

  resealProfile(authority: Authority, { name, before, sealed }: Resealed): boolean {
    const stored = this.profile(authority, name)
    if (!this.#options.mayChange(authority, 'admin') || stored?.sealed !== before) return false
    this.#options.values.set(profileName(name), { ...stored, sealed })
    return true
  }

  #profiles(): readonly Omit<BrowserProfile, 'sealed'>[] {
    return this.#options.values.get<readonly Omit<BrowserProfile, 'sealed'>[]>('browser profiles') ?? []
  }
}

const profileName = (name: string): string => `browser profile ${name}`
