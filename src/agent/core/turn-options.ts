/**
 * Defines the options of one request, and the authority that it acts with. They are stored with the turn, so that they
 * survive a restart.
 */

import type { TurnAuthority } from './permission/contribution.ts'
import type { ChatAuthor } from './delivery.ts'
import type { AnswerFormat, ModelParameters } from './request/model-parameters.ts'
import type { ResponseRequest } from './request/response-request.ts'
import type { ToolChoice, ToolSchema } from './request/tool-schema.ts'

export type TurnOptions = {
  /** `provider/model`. */
  readonly model?: string
  /** Appended to the system prompt for this turn only. */
  readonly instructions?: string
  readonly maxTurns?: number
  readonly temperature?: number
  readonly maxTokens?: number
  readonly reasoningEffort?: string
  readonly parameters?: ModelParameters
  /** The final answer is validated against it, and its text is not streamed before. */
  readonly answerFormat?: AnswerFormat
  /** The longest pause before a retry. A longer one ends the turn as failed. */
  readonly maxPauseMs?: number
  /** Tools that the caller of the run offers and runs itself. One of them hides a tool of ours with its name. */
  readonly clientTools?: readonly ToolSchema[]
  readonly toolChoice?: ToolChoice
  /** False: at most one call in a reply. */
  readonly parallelToolCalls?: boolean
  /** Toolsets that the request names. With `clientTools` it keeps those that act on a workspace. */
  readonly toolsets?: readonly string[]
  /** The request to the Responses API that the turn answers. */
  readonly response?: ResponseRequest
  /** The author of the chat message that the turn answers. */
  readonly asker?: ChatAuthor
  /** Absent in turns that were stored before there were authorities. */
  readonly authority?: TurnAuthority
}

/** The fields of a request about its turn. The authority follows from who contributes to the turn. */
export type RequestedOptions = Omit<TurnOptions, 'authority'>

/** The options of a turn that begins. */
export type OwnedOptions = TurnOptions & { readonly authority: TurnAuthority }
