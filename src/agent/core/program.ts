/** Defines programs that a model writes, and their results. */

import type { OmittedOutput } from './backend.ts'

/** Python runs on the host of the session. */
export type ProgramLanguage = 'javascript' | 'typescript' | 'python'

/** The answer to a tool call of a program: a result, or the error to throw with the result of the failed call. */
export type ProgramAnswer =
  | { readonly ok: Readonly<Record<string, unknown>> }
  | { readonly error: string; readonly result?: Readonly<Record<string, unknown>> }

/** A tool as a function of a program. `parameters` names positional arguments. */
export type ProgramFunction = {
  readonly name: string
  readonly description: string
  readonly parameters: readonly string[]
  readonly inputSchema: object
}

export type Program = {
  readonly source: string
  /** Absent: both are tried. */
  readonly language?: ProgramLanguage
  readonly tools: readonly ProgramFunction[]
  readonly timeoutMs: number
  readonly signal: AbortSignal
  readonly call: (name: string, input: unknown) => Promise<ProgramAnswer>
  /** The object `state` as JSON, as an earlier program of the turn has left it. */
  readonly state?: string | undefined
  /** Receives what the program prints while it runs; of much output only the end. */
  readonly onOutput?: ((text: string) => void) | undefined
}

export type ProgramStatus = 'success' | 'error' | 'timeout' | 'interrupted'

export type ProgramEnd = {
  readonly status: ProgramStatus
  readonly output: string
  /** The size cut from the middle of the output. */
  readonly omitted?: OmittedOutput | undefined
  readonly error?: string
  /** The object `state` as JSON, when the program has changed it. */
  readonly state?: string
}

/** Characters of the JSON of `state`. */
export const maxStateChars = 32_768
