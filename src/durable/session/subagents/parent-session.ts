/** Defines what the subagents of a session need from it. `Session` provides it; nothing in this folder imports that. */

import type { Authority } from '#agent/core/permission/authority.ts'
import type { SubagentProgress, SubagentReport } from '#agent/core/subagent.ts'
import type { TurnOptions } from '#agent/core/turn-options.ts'
import type { InjectedMessage } from '#durable/storage/injected-messages.ts'
import type { NewSession, SessionAsker } from '#durable/storage/session-metadata.ts'
import type { TenantSnapshot } from '#durable/tenant/tenant-snapshot.ts'

/** Delivers a message into the parent's own conversation. Undefined: the session does not exist. */
export type DeliverMessage = (authority: Authority, message: InjectedMessage) => Promise<unknown>

/** The first request to a subagent. */
export type ChildStart = {
  readonly authority: Authority
  readonly runId: string
  readonly tenant: TenantSnapshot
  readonly spec: NewSession
  readonly message: string
  /** The text that the person has typed in the conversation of the parent. */
  readonly typed: string
  readonly options: TurnOptions
  /** It goes on in its session. */
  readonly isResumed: boolean
  /** The parent has files to copy. */
  readonly copiesFiles: boolean
}

/** A question of another session, and whom to tell the answer. */
export type AskedQuestion = {
  readonly runId: string
  readonly tenant: TenantSnapshot
  readonly message: string
  readonly typed: string
  readonly asker: SessionAsker
}

/** `refused`: it can never start. */
export type SubagentStart =
  | { readonly kind: 'started' }
  | { readonly kind: 'over-limit'; readonly limit: string; readonly retryAfterMs: number }
  | { readonly kind: 'refused'; readonly reason: string }

/** `missing`: the session or its run does not exist. */
export type ChildStatus =
  | { readonly kind: 'running'; readonly progress: SubagentProgress }
  | { readonly kind: 'ended'; readonly report: SubagentReport }
  | { readonly kind: 'missing' }
