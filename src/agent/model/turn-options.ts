/**
 * Defines the options of one request, and the authority that it acts with. They are stored with the turn, so that they
 * survive a restart.
 */

import type { Authority } from './authority.ts'
import type { ChatAuthor } from './delivery.ts'

export type TurnOptions = {
  /** `provider/model`. */
  readonly model?: string
  /** Appended to the system prompt for this turn only. */
  readonly instructions?: string
  readonly maxTurns?: number
  readonly temperature?: number
  readonly maxTokens?: number
  readonly reasoningEffort?: string
  /** The author of the chat message that the turn answers. */
  readonly asker?: ChatAuthor
  /** Absent in turns that were stored before there were authorities. */
  readonly authority?: Authority
}
