/** Describes the cases of `talaria eval`, for cases in TypeScript: `export default [{…}] satisfies EvalCase[]`. */

export type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json }

/** A tool that the case brings. A tool of the agent with the same name is replaced by it. */
export type StandIn = {
  readonly name: string
  readonly description?: string
  readonly parameters?: object
  /** The result of every call. */
  readonly returns?: Json
  /** The results of the calls in their order; the last one repeats. */
  readonly results?: readonly Json[]
}

export type TextCheck =
  | string
  | { readonly contains: string }
  | { readonly equals: string }
  | { readonly matches: string }
  | { readonly schema: object }

/** Has one of the checks. `soft`: a failure lowers the score and fails nothing. */
export type Assertion = {
  readonly soft?: boolean
  readonly calledTool?: string | { readonly name: string; readonly input?: Json; readonly times?: number }
  readonly notCalledTool?: string
  /** In this order; other calls may stand in between. */
  readonly toolOrder?: readonly string[]
  /** Whether the agent waited for a person: an approval, a question, or any. */
  readonly asked?: boolean | 'approval' | 'question'
  readonly maxToolCalls?: number
  /** In USD. */
  readonly maxCost?: number
  readonly output?: TextCheck
  readonly file?: { readonly path: string; readonly absent?: boolean; readonly text?: TextCheck }
  /** A model reads the conversation and gives 0 to 1. */
  readonly judge?: { readonly rubric: string; readonly least?: number; readonly model?: string }
}

export type EvalCase = {
  readonly name: string
  readonly messages: readonly string[]
  /** Default: the default model of the server. Several run side by side. */
  readonly models?: readonly string[]
  readonly instructions?: string
  /** Of the session. */
  readonly settings?: object
  /** Of the workspace, by path. */
  readonly files?: Readonly<Record<string, string>>
  readonly tools?: readonly StandIn[]
  /** Toolsets of the agent beside the stand-ins. */
  readonly toolsets?: readonly string[]
  /** The decision about every approval. Default: deny. */
  readonly approvals?: 'once' | 'deny'
  /** Answers to questions, in their order; the last one repeats. */
  readonly answers?: readonly string[]
  readonly assert: readonly Assertion[]
  /** How often the case runs, and the share of runs that must pass. Defaults: 1 and 1. */
  readonly repeat?: number
  readonly least?: number
  readonly timeoutSeconds?: number
}
