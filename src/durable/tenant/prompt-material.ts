/**
 * Collects what the tenant contributes to the prompts of new sessions beside its settings. One number tells sessions
 * whether it has changed, so that a tenant without any costs no call.
 */

import type { Authority } from '#agent/core/permission/authority.ts'
import type { PromptMaterial } from '#agent/core/prompt-layer.ts'
import { clock } from '#durable/platform/clock.ts'
import { type ChangeCheck, TenantPart } from './tenant-part.ts'
import type { StoredValues } from './stored-values.ts'

const storedAs = 'prompt version'

/** Not an RPC subject: only the parts of this object change the version. */
export class MaterialVersion {
  readonly #values: StoredValues

  constructor(values: StoredValues) {
    this.#values = values
  }

  /** Undefined as long as nothing has ever been added. */
  get(): number | undefined {
    return this.#values.get<number>(storedAs)
  }

  /**
   * Called by a part in the same synchronous stretch as each of its changes. The time makes the versions of a tenant
   * that is deleted and created again higher than those that isolates may still have cached.
   */
  readonly increment = (): void => this.#values.set(storedAs, Math.max((this.get() ?? 0) + 1, clock.now()))
}

export type MaterialParts = Omit<PromptMaterial, 'version'>

export class TenantPrompt extends TenantPart {
  readonly #version: MaterialVersion
  readonly #parts: () => MaterialParts

  constructor(mayChange: ChangeCheck, version: MaterialVersion, parts: () => MaterialParts) {
    super(mayChange)
    this.#version = version
    this.#parts = parts
  }

  material(authority: Authority): PromptMaterial {
    this.requireOwn(authority)
    return { version: this.#version.get() ?? 0, ...this.#parts() }
  }
}
