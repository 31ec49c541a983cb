/** Stores the settings that a tenant has made for all of its sessions. */

import { RpcTarget } from 'cloudflare:workers'
import type { ApprovalRule } from '../../agent/model/approval.ts'
import { type PatchResult, patchSettings, type Settings } from '../../agent/model/settings.ts'
import type { StoredValues } from './stored-values.ts'

export class TenantSettings extends RpcTarget {
  readonly #values: StoredValues
  readonly #onChange: () => void

  /** `onChange` is called in the same synchronous stretch as each write. */
  constructor(values: StoredValues, onChange: () => void) {
    super()
    this.#values = values
    this.#onChange = onChange
  }

  get(): Settings {
    return this.#values.get<Settings>('settings') ?? {}
  }

  patch(patch: object): PatchResult {
    const patched = patchSettings(this.get(), patch)
    if (patched.kind === 'wrong') return patched
    this.#values.set('settings', patched.settings)
    this.#onChange()
    return patched
  }

  /** Adds a rule that a person chose with "always". A rule that exists is not added again. */
  addApprovalRule(rule: ApprovalRule): void {
    const { rules = [] } = this.get().approvals ?? {}
    const exists = rules.some((other) => JSON.stringify(other) === JSON.stringify(rule))
    if (!exists) this.patch({ approvals: { rules: [...rules, rule] } })
  }
}
