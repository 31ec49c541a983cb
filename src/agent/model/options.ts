/** What one request asks for, beyond its words. Stored with the turn, so that a restart asks for the same. */

export type TurnOptions = {
  /** `provider/model`. */
  readonly model?: string
  /** System text for this turn only, behind the session's own. */
  readonly instructions?: string
  readonly maxTurns?: number
  readonly temperature?: number
  readonly maxTokens?: number
  readonly reasoningEffort?: string
}
