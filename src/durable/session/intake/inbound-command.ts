/** Defines the message of a person in a chat, as the worker submits it to a session. */

import type { Authority } from '#agent/core/permission/authority.ts'
import type { ChatAuthor, ChatOrigin } from '#agent/core/delivery.ts'
import type { MediaReference } from '#agent/core/media/media-reference.ts'
import type { ResetPolicy } from '#agent/schedule/session-reset.ts'
import type { ChatCommands } from '#durable/channels/gateway.ts'
import type { TenantSnapshot } from '#durable/tenant/tenant-snapshot.ts'
import type { BusyMode } from './intake.ts'

export type InboundCommand = {
  readonly kind: 'inbound'
  /** That of the person who wrote the message. */
  readonly authority: Authority
  /** The same for every delivery of the same event. */
  readonly key: string
  /** The id of the run that the event starts: also the same for every delivery. */
  readonly runId: string
  readonly origin: ChatOrigin
  readonly asker: ChatAuthor
  /** The display name of the sender. */
  readonly name: string
  readonly text: string
  readonly mode: BusyMode
  /** The limits of the person's commands. Absent: the scopes alone. */
  readonly commands?: ChatCommands
  /** Messages within this time are one message. Absent or 0: never. */
  readonly burstMs?: number
  /** A message that waits behind a turn is confirmed. */
  readonly hasBusyNotice?: boolean
  /** So many messages may wait behind a turn. Absent: as many as the session keeps. */
  readonly maxQueued?: number
  /** When the chat begins a new conversation by itself. Absent: as the tenant has set it. */
  readonly reset?: ResetPolicy
  /** Files of the message, which the session reads before its turn. */
  readonly media?: readonly MediaReference[]
  /** Messages with the same id follow each other and are one. */
  readonly albumId?: string
  /** The message is the new text of this earlier one. */
  readonly edits?: string
  /** The keys of held messages that this one joins. */
  readonly releases?: readonly string[]
  /** Absent for messages that were held. */
  readonly tenant?: TenantSnapshot
}
