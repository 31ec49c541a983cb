/**
 * Defines the expected outcome of a fault. `did`: the notes of the run, in order. `exit`: why the turn ended.
 * `output`: the answer that the user sees.
 */

import type { Answer } from './bytes.ts'

export type Outcome = {
  readonly did: readonly (string | RegExp)[]
  readonly exit: string
  readonly output: RegExp
}
export type Fault = {
  readonly name: string
  readonly fault: Answer
  readonly blip: Outcome
  readonly lasting: Outcome
  /** The blip is got over by another model: that one is there. */
  readonly fallback?: true
  /** Nothing is said any more: the shortest silence there is ends it, and nobody waits for what comes after. */
  readonly silent?: true
  /** Seconds that the turn may wait, when it is not the usual three. */
  readonly maxWaitSeconds?: number
}

const well = /^All is well\.$/
export const waits = /^wait \d+ ms$/
export const answered = (...did: readonly (string | RegExp)[]): Outcome => ({ did, exit: 'answered', output: well })
export const failed = (kind: string, output: RegExp, ...did: readonly (string | RegExp)[]): Outcome => ({
  did,
  exit: `failed_${kind}`,
  output,
})
const fellBack: Outcome = answered(/^fall back to openrouter\//)

/** A failure that another try on the same model cannot mend. */
export const final = (name: string, fault: Answer, kind: string, output: RegExp): Fault => ({
  name,
  fault,
  fallback: true,
  blip: fellBack,
  lasting: failed(kind, output),
})
/** A failure that passes: waited for, once in the three seconds that the tests allow. */
export const passing = (name: string, fault: Answer, kind: string, output: RegExp): Fault => ({
  name,
  fault,
  blip: answered(waits),
  lasting: failed(kind, output, waits),
})
/** A connection that breaks before anything was said. */
export const broken = (
  name: string,
  fault: Answer,
  kind = 'network',
  output = /the connection to the provider/,
): Fault => ({
  name,
  fault,
  blip: answered('reconnect'),
  lasting: failed(kind, output, 'reconnect', 'reconnect', waits),
})
/** A connection that breaks in the middle of an answer, behind "Half of it: ". */
export const halved = (name: string, fault: Answer): Fault => ({
  name,
  fault,
  blip: { did: ['continue'], exit: 'answered', output: /^Half of it: All is well\.$/ },
  lasting: failed(
    'network',
    /Half of it: [\s\S]*I could not finish this/,
    'continue',
    'continue',
    'continue',
    'reconnect',
    'reconnect',
    waits,
  ),
})
/** Nothing is said any more. */
export const stalling = (name: string, fault: Answer): Fault => ({
  ...broken(name, fault),
  lasting: failed('stalled', /kept sending nothing/, 'reconnect', 'reconnect'),
  silent: true,
})
/** Strange, but no reason not to take the answer. */
export const harmless = (name: string, fault: Answer): Fault => ({
  name,
  fault,
  blip: answered(),
  lasting: answered(),
})
/** The model makes the same mistake until its steps are used up. */
export const mistaken = (name: string, fault: Answer): Fault => ({
  name,
  fault,
  blip: answered(),
  lasting: {
    did: ['ask for a summary', 'summarise ourselves'],
    exit: 'out_of_budget',
    output: /no final answer/i,
  },
})
