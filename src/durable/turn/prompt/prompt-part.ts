/** Defines what a part of the system prompt is built from, and what it returns. */

import type { Authority } from '#agent/core/permission/authority.ts'
import type { PromptLayer, PromptMaterial } from '#agent/core/prompt-layer.ts'
import type { Settings } from '#agent/core/settings.ts'
import type { Toolbox } from '#agent/core/tool.ts'
import type { SessionMetadata } from '#durable/storage/session-metadata.ts'
import type { SessionBackend } from '#durable/workspace/session-backend.ts'
import type { ToolScope } from '../tools/turn-scope.ts'

/** The model that gets the prompt first. */
export type PromptModel = {
  /** `provider/model`. */
  readonly id: string
  /** Tokens. */
  readonly contextWindow: number
}

/** The parts of a session that its prompt is built from. */
export type PreparedSession = {
  readonly tenantId: string
  readonly meta: SessionMetadata
  readonly settings: Settings
  readonly journal: { readonly isBlank: boolean }
  readonly toolRuntime: {
    readonly backend: Pick<SessionBackend, 'describe' | 'files' | 'kind' | 'capabilities'>
    readonly toolbox: (settings: Settings, scope: ToolScope) => Toolbox
  }
  /** The tenant's material: at once when it adds nothing, or when its material is cached. `isFresh`: asks the tenant. */
  readonly promptMaterial: (isFresh: boolean) => PromptMaterial | undefined | Promise<PromptMaterial | undefined>
  /** The model of a turn that names `model`, or none. Undefined when no model is set up. */
  readonly promptModel: (model: string | undefined) => PromptModel | undefined
  /** Whether the workspace may have files that can be read without starting a host. */
  readonly hasReadableFiles: () => boolean
  /** Replaces secrets. */
  readonly redact: (text: string) => string
  /** For whom the last turn acts. */
  readonly asker: () => Authority
  /** The entries of the asker's profile. */
  readonly profileOf: (authority: Authority) => Promise<readonly string[]>
}

export type PromptContext = {
  readonly session: PreparedSession
  readonly settings: Settings
  /** For whom the first turn acts. */
  readonly authority: Authority
  /** Those that a turn of the session has without limits of its own. */
  readonly tools: Toolbox
  /** Empty when the tenant adds nothing. */
  readonly material: Partial<PromptMaterial>
  readonly model: PromptModel | undefined
  /** Milliseconds since 1970. */
  readonly now: number
}

export type PartResult = PromptLayer | readonly PromptLayer[] | undefined

/** Builds one or more layers; undefined when this session has none. It waits only for what it has to read. */
export type PromptPart = (context: PromptContext) => PartResult | Promise<PartResult>
