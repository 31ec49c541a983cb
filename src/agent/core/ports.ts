/** Defines the ports of the loop. Each has one implementation in production and one in tests. */

import type { Message, UserMessage } from './message.ts'
import type { Step } from './step.ts'
import type { Toolbox } from './tool.ts'
import type { Commit, Result, ToolCall, Turn } from './turn.ts'
import type { Usage } from './usage.ts'

/** A message that arrived during a turn. `steer` joins the next tool result, `redirect` the next model call. */
export type InboxMessage = {
  readonly id: number
  readonly mode: 'steer' | 'redirect'
  readonly message: UserMessage
  /** Identifies the request, so that a repeated one is recognised. */
  readonly requestId?: string
}

/**
 * Stores one session. `save` changes the state in memory and adds to the pending write; `write` commits all of it in one
 * transaction. Nothing may leave the object between the two.
 */
export type Store = {
  readonly turn: () => Turn
  readonly save: (commit: Commit) => void
  readonly write: () => void
}

/** Performs one step. A failure of the outside world returns as a `failure` result and never throws. */
export type Perform = (step: Step, turn: Turn) => AsyncIterable<Result>

/** The limits that the policies use, from the settings. */
export type LoopLimits = {
  /** The longest total time that a turn waits for providers. */
  readonly maxWaitMs: number
  /** The longest time of a turn. */
  readonly maxTurnMs?: number
  readonly compression: CompressionLimits
  readonly guard: {
    readonly warn: boolean
    readonly stop: boolean
    readonly warnAfter: GuardThresholds
    readonly stopAfter: GuardThresholds
    /** The maximum number of calls per turn, by tool. Other tools are not limited. */
    readonly perTurn: Readonly<Record<string, number>>
  }
}
/** `threshold` is a share of the context window. Absent: it depends on the window. */
export type CompressionThresholds = { readonly threshold?: number; readonly thresholdTokens?: number }
export type CompressionLimits = CompressionThresholds & {
  readonly enabled: boolean
  /** Thresholds of single models, by `provider/model`. */
  readonly models?: Readonly<Record<string, CompressionThresholds>>
}
export type GuardThresholds = { readonly exact: number; readonly tool: number; readonly same: number }

export const defaultLimits: LoopLimits = {
  maxWaitMs: 1_800_000,
  compression: { enabled: true },
  guard: {
    warn: true,
    stop: false,
    warnAfter: { exact: 2, tool: 3, same: 2 },
    stopAfter: { exact: 5, tool: 8, same: 5 },
    perTurn: { web_search: 50, delegate_task: 50 },
  },
}

/** A snapshot of all data that the pure loop may read besides the turn, taken before every decision. */
export type View = {
  readonly now: number
  readonly inbox: readonly InboxMessage[]
  /** The role of the last message in the transcript. */
  readonly lastRole: Message['role'] | undefined
  readonly toolbox: Toolbox
  /** Whether others who contribute to the conversation have taken this tool away. */
  readonly isToolLost?: (tool: string) => boolean
  /** Selects the first of these planned calls that may run at the same time. */
  readonly selectConcurrent: (calls: readonly ToolCall[]) => readonly ToolCall[]
  /** The seq of the last message. */
  readonly lastSeq: number
  /** The number of messages in the active transcript. */
  readonly messageCount: number
  readonly contextTokens: number
  /** Counts the tokens of the messages that a compression would replace now. */
  readonly compressibleTokens: () => number
  readonly contextWindow: number
  /** The models of this turn in order of preference, each with the names of its usable keys. */
  readonly chain: readonly {
    readonly id: string
    readonly keys: readonly string[]
    /** The typical length of an overload, for providers with long ones. */
    readonly overloadMs?: number | undefined
  }[]
  /** Calls of the current model that ended by the idle timeout in a row, over all turns of the tenant. */
  readonly stallsInARow: number
  readonly limits: LoopLimits
  /** The spending limit that is reached. */
  readonly limitReached?: string | undefined
  /** A spending limit of which most is used. */
  readonly limitWarning?: { readonly limit: string; readonly percent: number } | undefined
  /** The estimated usage of the call in flight, in case its result is lost. */
  readonly lostCall?: { readonly usage: Usage } | undefined
  /** Whether the transcript contains images. */
  readonly hasImages: boolean
  /** Whether the model gets PDF files of the transcript as such. */
  readonly sendsPdfs: boolean
  /** Whether this deployment can make images smaller. */
  readonly canShrinkImages: boolean
  /** A random number, 0 ≤ x < 1, for jitter. */
  readonly random: number
}
