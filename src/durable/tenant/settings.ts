/** Stores the settings that a tenant has made for all of its sessions. */

import type { ApprovalRule } from '#agent/core/permission/approval.ts'
import { findChangeBeyondRole } from '#agent/policy/settings/role-limits.ts'
import { listPolicyChanges } from '#agent/policy/settings/tighten-settings.ts'
import { type Authority, hasScope } from '#agent/core/permission/authority.ts'
import { mergeSettings, type PatchResult, patchSettings, type Settings } from '#agent/core/settings.ts'
import { type ChangeCheck, TenantPart } from './tenant-part.ts'
import type { StoredValues } from './stored-values.ts'

export type TenantPatchResult =
  | PatchResult
  | { readonly kind: 'policy'; readonly at: string }
  | { readonly kind: 'role'; readonly at: string }
  | { readonly kind: 'foreign' }

export type SettingsChange = { readonly authority: Authority; readonly before: Settings; readonly after: Settings }

type ResealedHeader = {
  readonly provider: string
  readonly header: string
  readonly before: string
  readonly after: string
}

export class TenantSettings extends TenantPart {
  readonly #values: StoredValues
  readonly #onChange: (change: SettingsChange) => void

  /** `onChange` is called in the same synchronous stretch as each write. */
  constructor(mayChange: ChangeCheck, values: StoredValues, onChange: (change: SettingsChange) => void) {
    super(mayChange)
    this.#values = values
    this.#onChange = onChange
  }

  get(): Settings {
    return this.#values.get<Settings>('settings') ?? {}
  }

  /** `policy`, `role`: the scopes or the role of the authority do not let it change the setting `at`. `foreign`: it is for another tenant, or may change nothing. */
  patch(authority: Authority, patch: object): TenantPatchResult {
    const before = this.get()
    const patched = patchSettings(before, patch)
    if (patched.kind === 'wrong') return patched
    if (!this.mayChange(authority, 'write', 'approve')) return { kind: 'foreign' }
    const changes = listPolicyChanges(before, patched.settings)
    const [first] = hasScope(authority, 'approve') ? [] : changes
    if (first !== undefined) return { kind: 'policy', at: first }
    const beyond = findChangeBeyondRole(authority, changes)
    if (beyond !== undefined) return { kind: 'role', at: beyond }
    return this.#store(authority, patched)
  }

  #store(authority: Authority, patched: Extract<PatchResult, { readonly kind: 'patched' }>): PatchResult {
    const before = this.get()
    this.#values.set('settings', patched.settings)
    this.#onChange({ authority, before, after: patched.settings })
    return patched
  }

  /** For the operator: replaces the sealed text of a header, unless it has changed meanwhile. Its value stays the same. */
  resealHeader(authority: Authority, { provider, header, before, after }: ResealedHeader): boolean {
    if (!this.mayChange(authority, 'admin')) return false
    const settings = this.get()
    if (settings.providers?.[provider]?.headers?.[header] !== before) return false
    const change = { providers: { [provider]: { headers: { [header]: after } } } }
    this.#values.set('settings', mergeSettings(settings, change))
    return true
  }

  /** Adds a rule that a person chose with "always". A rule that exists is not added again. */
  addApprovalRule(authority: Authority, rule: ApprovalRule): void {
    const { rules = [] } = this.get().approvals ?? {}
    const exists = rules.some((other) => JSON.stringify(other) === JSON.stringify(rule))
    if (exists || !this.mayChange(authority, 'approve')) return
    const patched = patchSettings(this.get(), { approvals: { rules: [...rules, rule] } })
    if (patched.kind === 'patched') this.#store(authority, patched)
  }
}
