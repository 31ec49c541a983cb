/** Defines the steps of a turn. Each step is one effect or none. */

import type { AssistantMessage } from './message.ts'
import type { Outcome, ToolCall } from './turn.ts'

export type Step =
  /**
   * `instruction` comes after the transcript for this call only; it is never stored. `halted`: the reason why the
   * tools stop although the budget has steps left.
   */
  | { readonly do: 'call-model'; readonly tools: boolean; readonly instruction?: string; readonly halted?: string }
  | { readonly do: 'run-tools'; readonly calls: readonly ToolCall[] }
  | { readonly do: 'compress' }
  /** `notice`: the last message of the turn. Default: that it was stopped. */
  | { readonly do: 'finish'; readonly outcome: Outcome; readonly halted?: string; readonly notice?: AssistantMessage }
  | { readonly do: 'rest'; readonly until?: number }
