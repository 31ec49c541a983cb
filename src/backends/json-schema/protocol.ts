/** Defines the call of the validator, and what the checks of one keyword need. */

import type { JsonObject } from '#agent/core/parse-json.ts'

/** Returns what does not match, for the model; an empty list when the value matches. */
export type ValidateJson = (schema: JsonObject, value: unknown) => readonly string[]

export type Validation = {
  readonly root: JsonObject
  /** Whether a regular expression matches a text. */
  readonly patterns: (pattern: string, text: string) => boolean
  /** Collects the problems of a value at a JSON pointer. */
  readonly check: (schema: unknown, value: unknown, at: string) => readonly string[]
  /** Counts work that grows with the value. */
  readonly charge: (amount: number) => void
}
