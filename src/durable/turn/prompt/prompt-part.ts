/** Defines what a part of the system prompt is built from, and what it returns. */

import type { Authority } from '#agent/core/permission/authority.ts'
import type { PromptLayer, PromptMaterial } from '#agent/core/prompt-layer.ts'
import type { Settings } from '#agent/core/settings.ts'
import type { Toolbox } from '#agent/core/tool.ts'
import type { TurnSession } from '../turn-session.ts'

/** The model that gets the prompt first. */
export type PromptModel = {
  /** `provider/model`. */
  readonly id: string
  /** Tokens. */
  readonly contextWindow: number
}

export type PromptContext = {
  readonly session: TurnSession
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
