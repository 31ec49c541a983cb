/** The outside world, as the loop sees it. Each port has one implementation in production and one in tests. */

import type { Message, UserMessage } from './message.ts'
import type { Step } from './step.ts'
import type { Toolbox } from './tool.ts'
import type { Commit, Result, ToolCall, Turn } from './turn.ts'
import type { Usage } from './usage.ts'

/** Something said while a turn was open. `steer` joins the next tool result, `redirect` the next model call. */
export type InboxMessage = {
  readonly id: number
  readonly mode: 'steer' | 'redirect'
  readonly message: UserMessage
  /** Names the request that brought it, so that a repeated one is recognised. */
  readonly requestId?: string
}

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

/** Numbers of the settings that the policies go by. */
export type LoopLimits = {
  /** Milliseconds that a turn may spend waiting for providers, in all. */
  readonly maxWaitMs: number
  /** Milliseconds that a turn may take, in all. */
  readonly maxTurnMs?: number
  readonly compression: { readonly enabled: boolean; readonly threshold: number }
  readonly guard: {
    readonly warn: boolean
    readonly stop: boolean
    readonly warnAfter: GuardThresholds
    readonly stopAfter: GuardThresholds
    /** Calls per turn, by tool: what is not named is not limited. */
    readonly perTurn: Readonly<Record<string, number>>
  }
}
export type GuardThresholds = { readonly exact: number; readonly tool: number; readonly same: number }

export const defaultLimits: LoopLimits = {
  maxWaitMs: 1_800_000,
  compression: { enabled: true, threshold: 0.75 },
  guard: {
    warn: true,
    stop: false,
    warnAfter: { exact: 2, tool: 3, same: 2 },
    stopAfter: { exact: 5, tool: 8, same: 5 },
    perTurn: { web_search: 50, delegate_task: 50 },
  },
}

/** What the pure parts may know besides the turn. A snapshot, taken anew before every decision. */
export type View = {
  readonly now: number
  readonly inbox: readonly InboxMessage[]
  /** Who spoke last in the transcript. */
  readonly lastRole: Message['role'] | undefined
  readonly toolbox: Toolbox
  /** Of these planned calls, the first ones that may run side by side. */
  readonly selectConcurrent: (calls: readonly ToolCall[]) => readonly ToolCall[]
  /** In the transcript in use. */
  readonly messageCount: number
  readonly contextTokens: number
  readonly contextWindow: number
  /** The models of this turn in order of preference, each with the names of its usable keys. */
  readonly chain: readonly {
    readonly id: string
    readonly keys: readonly string[]
    /** How long it is busy when it is overloaded, where that is known to be long. */
    readonly overloadMs?: number | undefined
  }[]
  /** Calls of the model that serves the turn that were given up for silence, one after the other, in any turn of the tenant. */
  readonly stallsInARow: number
  readonly limits: LoopLimits
  /** The limit of spending that is reached. */
  readonly limitReached?: string
  /** What a call cost that is in flight, if it never comes back. */
  readonly lostCall?: { readonly usage: Usage }
  /** There are images in the transcript. */
  readonly hasImages: boolean
  /** Images can be made smaller here. */
  readonly canShrinkImages: boolean
  /** 0 ≤ x < 1, for jitter: data, so that the pure parts stay pure. */
  readonly random: number
}
