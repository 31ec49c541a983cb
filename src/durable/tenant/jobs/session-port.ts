/** Defines what a run of a job asks of sessions. The session of a run is its own, and its name has the job and the slot. */

import type { Marks } from '#agent/core/marks.ts'
import type { OrderedAction } from '#tools/judge-action.ts'
import type { ChatOrigin } from '#agent/core/delivery.ts'
import type { Authority } from '#agent/core/permission/authority.ts'
import type { ScriptEnd } from '#agent/schedule/job/script-output.ts'

/** The session of one run. It is created with the first call. */
export type JobSession = {
  /** The id of the run of the job. A session that belongs to something else is refused. */
  readonly jobRun: string
  /** Default: that of jobs. */
  readonly source?: 'batch'
  readonly title: string
  readonly model?: string
  readonly maxUsd?: number
  readonly workdir?: string
  /** The id of the project that the session belongs to. */
  readonly project?: string
}

/** `key`: a script with one key runs once. */
export type JobScript = {
  readonly key: string
  readonly command: string
  readonly timeoutMs: number
  /** No further approval is needed, where one would be. */
  readonly isApproved: boolean
}

/** `lost`: it was interrupted, and how far it came is unknown. `refused`: policy does not let it run. */
export type ScriptOutcome =
  | ({ readonly kind: 'ended' } & ScriptEnd)
  | { readonly kind: 'lost' }
  | { readonly kind: 'refused'; readonly reason: string }

export type JobPrompt = {
  readonly runId: string
  readonly text: string
  /** Of the person, when a model has made the job. */
  readonly typed?: string
  readonly instructions?: string
  readonly maxTurns?: number
  readonly maxTokens?: number
}

export type StartOutcome =
  | { readonly kind: 'started' }
  | { readonly kind: 'over-limit'; readonly limit: string; readonly retryAfterMs: number }
  | { readonly kind: 'refused'; readonly reason: string }

/** `unknown`: the session has no such run any more. */
export type JobOutcome =
  | { readonly kind: 'running' }
  | {
      readonly kind: 'ended'
      readonly isCompleted: boolean
      readonly output: string
      readonly error?: string
      /** A limit in money or tokens has ended it. */
      readonly isOutOfBudget: boolean
      /** Of the session. */
      readonly costUsd: number
      /** Of what the run has read. */
      readonly marks: Marks
    }
  | { readonly kind: 'unknown' }

export type ChatNotice = {
  readonly key: string
  readonly chat: ChatOrigin
  readonly text: string
  /** Plain text arrives character by character, whatever the platform draws. */
  readonly format: 'markdown' | 'plain'
  /** They are stored in the workspace of the chat's session, and sent after the text. */
  readonly files?: readonly { readonly name: string; readonly bytes: Uint8Array }[]
}
export type NoticeState = { readonly kind: 'sending' | 'sent' } | { readonly kind: 'failed'; readonly error: string }

/** The subject `jobs` of a session, as a tenant's object calls it. */
export type SessionJobs = {
  readonly runScript: (
    authority: Authority,
    session: JobSession,
    script: JobScript,
  ) => Promise<ScriptOutcome | undefined>
  /** Returns why the run may not do this, or null. */
  readonly judge: (
    authority: Authority,
    session: JobSession,
    action: OrderedAction,
  ) => Promise<string | null | undefined>
  readonly start: (authority: Authority, session: JobSession, prompt: JobPrompt) => Promise<StartOutcome | undefined>
  readonly outcome: (authority: Authority, runId: string) => Promise<JobOutcome>
  /** Deletes the session of a run that started no turn. */
  readonly discard: (authority: Authority, jobRun: string) => Promise<void>
  /** Sends a text to the chat of this session, once per key. */
  readonly notify: (authority: Authority, notice: ChatNotice) => Promise<NoticeState | undefined>
}
