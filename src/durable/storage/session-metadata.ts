/** Defines the metadata of a session: everything but its messages and events. It is stored as JSON in one row. */

import type { ChatOrigin } from '../../agent/model/delivery.ts'
import type { BackendKind } from '../../agent/model/backend.ts'
import type { Todo } from '../../agent/model/tool.ts'
import type { ShellState } from '../../agent/model/tool.ts'
import type { Settings } from '../../agent/model/settings.ts'
import { noUsage, type Usage } from '../../agent/model/usage.ts'
import type { HostRecord } from '../../backends/host/host-port.ts'

/** The backend that has the files of a session. Without it they are in the session's object. */
export type WorkspaceLocation = {
  readonly kind: BackendKind
  /** Backends that may still have files of this session. */
  readonly been: readonly BackendKind[]
  /** The records by which rented hosts are found again. */
  readonly memories?: Readonly<Partial<Record<BackendKind, HostRecord>>>
  /** A note about the last move of the files, for the output of the next command. */
  readonly note?: string | undefined
}

export type NewSession = {
  readonly title?: string | null | undefined
  readonly source?: string | undefined
  readonly model?: string | null | undefined
  readonly parentId?: string | null | undefined
  readonly settings?: Settings | undefined
  /** The chat that the session belongs to. */
  readonly origin?: ChatOrigin | undefined
  /** The session deletes itself after its answer. */
  readonly ephemeral?: boolean | undefined
}

/** The last numbers that were assigned to messages and events. */
export type LastNumbers = { readonly message: number; readonly event: number }

export type SessionMetadata = {
  readonly id: string
  readonly tenantId: string
  readonly title: string | null
  readonly source: string
  readonly model: string | null
  readonly parentId: string | null
  readonly createdAt: number
  readonly settings: Settings
  /** The settings passed the check of policy. Absent in sessions that are older than the check. */
  readonly isPolicyChecked?: true
  /** The system prompt: built when the first turn starts, then sent unchanged. */
  readonly prompt?: string
  readonly todos: readonly Todo[]
  readonly shell?: ShellState
  /** Calls that a person has allowed for this session, as `tool: rule`. */
  readonly grants?: readonly string[]
  readonly machine?: WorkspaceLocation
  /** The usage of turns that are not in the rows: of a fork's parent, or of a rebuilt session. */
  readonly usageBefore: Usage
  /** Usage that was billed to a run after its end. */
  readonly after?: { readonly run: string; readonly usage: Usage } | undefined
  /** Messages from this seq on were undone, but history still has them. */
  readonly retractedFrom?: number | undefined
  /** Only in the copy of history: a rebuilt session continues after these numbers. */
  readonly given?: LastNumbers
  /** The chat that gets every answer. */
  readonly origin?: ChatOrigin
  /** A fork whose files are still being copied: it does not exist for callers yet. */
  readonly arriving?: true
  readonly ephemeral?: boolean
}

export const createMetadata = (
  { id, tenantId }: Pick<SessionMetadata, 'id' | 'tenantId'>,
  { title, source, model, parentId, settings, origin, ephemeral }: NewSession,
  now: number,
): SessionMetadata => ({
  id,
  tenantId,
  title: title ?? null,
  source: source ?? 'api',
  model: model ?? null,
  parentId: parentId ?? null,
  createdAt: now,
  settings: settings ?? {},
  isPolicyChecked: true,
  todos: [],
  usageBefore: noUsage,
  ...(origin && { origin }),
  ...(ephemeral && { ephemeral }),
})
