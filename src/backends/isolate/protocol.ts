/** Defines the RPC interfaces of the isolates that compile and run a program. */

import type { ProgramAnswer, ProgramEnd, ProgramFunction, ProgramLanguage } from '#agent/core/program.ts'

export type CompiledLanguage = Exclude<ProgramLanguage, 'python'>
/** `signature`: its declaration. */
export type Callable = Pick<ProgramFunction, 'name' | 'parameters'> & { readonly signature?: string | undefined }
export type CallAnswer = ProgramAnswer
export type RunAnswer = ProgramEnd

export type Compiled = { readonly ok: true; readonly code: string } | { readonly ok: false; readonly error: string }

export type RunRequest = {
  readonly tools: readonly Callable[]
  readonly timeoutMs: number
  readonly limits: ComputeLimits
  /** Characters of output; more is truncated. */
  readonly maxOutput: number
  /** The object `state` as JSON. */
  readonly state?: string
}

export type ComputeLimits = {
  /** Time that code may compute without yielding. */
  readonly maxBlockingMs: number
  /** Computing time in total. */
  readonly maxTotalMs: number
}

/** The operations that the session offers to a running program. After its end, calls fail. */
export type ProgramHost = {
  readonly call: (name: string, input: unknown, printed: string) => Promise<CallAnswer>
  /** Sends the newest output, while the program runs. */
  readonly print: (text: string) => Promise<void>
  /** Resolves when the program has to stop. */
  readonly stopped: () => Promise<void>
}
