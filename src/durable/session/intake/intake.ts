/** Defines the steps of a submission to a session, and their outcomes. */

import type { CommandChoice } from '#agent/core/delivery.ts'
import type { OpeningMessage, ToolCallPart } from '#agent/core/message.ts'
import type { Limits } from '#agent/core/settings.ts'
import type { OwnedOptions } from '#agent/core/turn-options.ts'

/**
 * The outcome for the sender.
 * `running`, `queued`: a run of its own. `joined`: the message went into the open run, whose id this is.
 * `segment`: the part of the run that answers; absent: the first one. `ended`: a repeat whose run is over. `duplicate`: an inbound event that was delivered before. `stored`: an
 * unaddressed message that waits for the next turn.
 * Nothing was accepted with the others. `too-large`: a row cannot hold it. `superseded`: another run already follows
 * the run that this one was to follow. `busy`: a turn is open, and this submission cannot join one. `nothing`: there is no
 * message to submit. `unknown-call`: no call of the run has this id. `over-limit`: a limit is reached; `retryAfter` is in seconds.
 */
export type Submitted =
  | {
      readonly runId: string
      readonly status: 'running' | 'queued' | 'joined' | 'ended' | 'duplicate' | 'stored'
      readonly segment?: number
    }
  | { readonly runId: string; readonly status: 'too-large' | 'superseded' | 'busy' | 'nothing' }
  | { readonly runId: string; readonly status: 'unknown-call'; readonly callId: string }
  | OverLimit

export type OverLimit = {
  readonly runId: string
  readonly status: 'over-limit'
  readonly limit: keyof Limits
  readonly retryAfter: number
}

type NotAccepted = Exclude<
  Submitted,
  { readonly status: 'running' | 'queued' | 'joined' | 'ended' | 'duplicate' | 'stored' }
>

/** Whether there is no run to wait for or to stream. */
export const isNotAccepted = (submitted: Submitted): submitted is NotAccepted =>
  ['too-large', 'superseded', 'busy', 'nothing', 'unknown-call', 'over-limit'].includes(submitted.status)

/** How a message takes effect while a turn is open. */
export type BusyMode = 'queue' | 'interrupt' | 'steer'

/** The turn that starts. `calls`: calls that run before the model is asked. */
export type Composed = {
  readonly message: OpeningMessage
  readonly options: OwnedOptions
  readonly calls?: readonly ToolCallPart[]
  /** Milliseconds until the turn begins, where others must be answered first. */
  readonly startsAfterMs?: number
}

/** The steps of one kind of submission. Only `open`, `prepare` and `placeFiles` may wait; the others run without an await between them. */
export type Intake = {
  /** The id of the run that the submission starts, if it starts one. */
  readonly runId: string
  /** The model that the submission names for its turn. */
  readonly model?: string | undefined
  /** Refuses a submission that no row can hold. */
  readonly validate?: () => Submitted | undefined
  /** Loads the session. `new`: `create` creates it. False: there is no such session. */
  readonly open: () => Promise<'exists' | 'new' | false>
  /** The outcome of an earlier submit of the same submission, or a reason to refuse it. */
  readonly findOutcome: (isRecheck: boolean) => Submitted | undefined
  /** Stores what the message refers to, such as images. */
  readonly prepare?: () => Promise<void>
  /** Removes what `prepare` stored, because the message was not accepted. */
  readonly discard?: () => Promise<void>
  readonly create?: () => void
  /** Writes the files of the message into the workspace of the session. Undefined when there is nothing to write. */
  readonly placeFiles?: () => Promise<void> | undefined
  /** The message of the turn that starts now; undefined when there is none after all. */
  readonly compose: () => Composed | undefined
  /** Passes the message to the open turn. */
  readonly join: () => Submitted
  /** Records that a command was answered without a message, and shows a text that is not empty to a sender in a chat. */
  readonly acknowledge?: (text: string, picks?: readonly CommandChoice[]) => void
  /** Called when a limit refuses the turn. */
  readonly refuse?: () => void
}
