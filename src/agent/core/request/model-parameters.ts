/**
 * Defines the parameters of model calls and the format of the answer that a client can set. Absent fields follow the
 * provider. A dialect leaves out what its API or the model does not have (docs/design/parameters.md).
 */

export type ModelParameters = {
  readonly topP?: number
  readonly stop?: readonly string[]
  readonly seed?: number
  readonly presencePenalty?: number
  readonly frequencyPenalty?: number
  /** Keyed by token id. */
  readonly logitBias?: Readonly<Record<string, number>>
  readonly verbosity?: 'low' | 'medium' | 'high'
  readonly serviceTier?: string
  /** Identifies the person behind the request, for the provider's abuse detection. */
  readonly user?: string
  // Parameters of compatible servers.
  readonly topK?: number
  readonly topA?: number
  readonly minP?: number
  readonly typicalP?: number
  readonly repetitionPenalty?: number
}

/** `json_object`: any JSON object. */
export type AnswerFormat =
  | { readonly type: 'json_object' }
  | {
      readonly type: 'json_schema'
      readonly name: string
      readonly description?: string
      readonly schema: Readonly<Record<string, unknown>>
      readonly strict?: boolean
    }
