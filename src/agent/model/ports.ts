/** The outside world, as the loop sees it. Each port has one implementation in production and one in tests. */

import type { Message, UserMessage } from './message.ts'
import type { Step } from './step.ts'
import type { Risk, Toolbox } from './tool.ts'
import type { Commit, Result, Turn } from './turn.ts'

/** Something said while a turn was open. `steer` joins the next tool result, `redirect` the next model call. */
export type Said = { readonly id: number; readonly mode: 'steer' | 'redirect'; readonly message: UserMessage }

/**
 * Durable memory of one session. `save` changes what is read at once and joins the pending write;
 * `write` puts all of it down in one transaction. Nothing may leave between the two.
 */
export type Store = {
  readonly turn: () => Turn
  readonly save: (commit: Commit) => void
  readonly write: () => void
}

/** Performs one step. Never throws for what the world does: that comes back as a `failure` result. */
export type Perform = (step: Step, turn: Turn) => AsyncIterable<Result>

/** What the pure parts may know besides the turn. A snapshot, taken anew before every decision. */
export type View = {
  readonly now: number
  readonly inbox: readonly Said[]
  /** Who spoke last in the transcript. */
  readonly lastRole: Message['role'] | undefined
  readonly toolbox: Toolbox
  readonly contextTokens: number
  readonly contextWindow: number
  /** Keys per model, in order of preference: [3, 1] is a model with three keys, then a fallback with one. */
  readonly chain: readonly number[]
  /** Risks that a person has to approve. */
  readonly asks: ReadonlySet<Risk>
  /** 0 ≤ x < 1, for jitter: data, so that the pure parts stay pure. */
  readonly dice: number
}
