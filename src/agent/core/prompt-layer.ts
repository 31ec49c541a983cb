/** Defines the layers of a system prompt, what a tenant contributes to it, and what a session stores about it. */

import type { Marks } from './marks.ts'
import type { MemoryMaterial } from './recall/memory.ts'
import type { SkillMaterial } from './skills/skill-material.ts'

/**
 * The parts of the prompt by how often they differ. `stable`: the same in all sessions with the same settings. `context`:
 * of a workspace. `volatile`: of a person and a day. The order lets providers cache the longest common prefix.
 */
export type PromptTier = 'stable' | 'context' | 'volatile'

export type PromptLayer = {
  readonly name: string
  readonly tier: PromptTier
  readonly text: string
  /** Tokens. A longer text loses its middle. */
  readonly budget: number
  /** Set by a layer that was shortened before it got here. */
  readonly isTruncated?: boolean
  /** The person whose profile the layer holds. */
  readonly owner?: string
  /** Absent: it holds texts of the deployment and of the tenant's settings. */
  readonly marks?: Marks
}

/** One layer of a stored prompt. */
export type PromptLayerSize = {
  readonly name: string
  readonly tier: PromptTier
  /** Estimated. */
  readonly tokens: number
  readonly budget: number
  readonly isTruncated: boolean
}

/** Describes the stored prompt of a session. */
export type PromptRecord = {
  readonly layers: readonly PromptLayerSize[]
  /** Milliseconds since 1970. */
  readonly builtAt: number
  /** The version of the tenant's material that the prompt has. Absent: the tenant had none. */
  readonly material?: number
  readonly personal?: PersonalLayers
  /** Of all layers. Absent in prompts that are older than marks. */
  readonly marks?: Marks
}

/** The layers that only some askers may be answered with, as they stand in the prompt. */
export type PersonalLayers = {
  readonly memory?: string
  readonly projectMemory?: string
  readonly profile?: { readonly owner: string; readonly text: string }
}

/** The contribution of a tenant to the prompts of its sessions beside its settings. A subject adds a field of its own. */
export type PromptMaterial = {
  /** Rises with each change. */
  readonly version: number
  readonly skills?: SkillMaterial | undefined
  readonly memory?: MemoryMaterial | undefined
}
