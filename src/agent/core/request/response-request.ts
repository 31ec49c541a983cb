/**
 * Defines the fields of a request to the Responses API that its response repeats. They are stored with the turn, so that
 * a response reads the same later. Fields that the turn has anyway are not among them.
 */

export type ResponseRequest = {
  /** Milliseconds since 1970. */
  readonly createdAt: number
  /** The model as the request names it. */
  readonly model?: string
  /** The first characters of the turn's system text are the `instructions` of the request. */
  readonly instructionChars?: number
  readonly metadata?: Readonly<Record<string, string>>
  readonly previousId?: string
  readonly conversation?: string
  readonly isBackground?: true
  readonly isUnstored?: true
  /** The JSON of the fields `text` and `tool_choice`. */
  readonly text?: string
  readonly toolChoice?: string
  /** Only when it is false: that is not the default. */
  readonly parallelToolCalls?: false
  readonly reasoningSummary?: string
  readonly truncation?: 'auto' | 'disabled'
  readonly maxToolCalls?: number
  readonly user?: string
  readonly safetyIdentifier?: string
  readonly promptCacheKey?: string
}
