/** What one request asks for, beyond its words. Stored with the turn, so that a restart asks for the same. */

import type { ChatAuthor } from './delivery.ts'

export type TurnOptions = {
  /** `provider/model`. */
  readonly model?: string
  /** System text for this turn only, behind the session's own. */
  readonly instructions?: string
  readonly maxTurns?: number
  readonly temperature?: number
  readonly maxTokens?: number
  readonly reasoningEffort?: string
  /** The person of a chat that it answers. */
  readonly asker?: ChatAuthor
}
