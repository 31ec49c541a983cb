/** What a session is, apart from what was said in it. */

import type { Origin } from '../../agent/model/delivery.ts'
import type { BackendKind } from '../../agent/model/backend.ts'
import type { Todo } from '../../agent/model/tool.ts'
import type { ShellState } from '../../agent/model/tool.ts'
import type { Settings } from '../../agent/model/settings.ts'
import { noUsage, type Usage } from '../../agent/model/usage.ts'
import type { MachineMemory } from '../../backends/machine/port.ts'

/** Where the files of a session are. Without it they are in its object. */
export type HostRecord = {
  readonly kind: BackendKind
  /** Machines that may still have something of this session. */
  readonly been: readonly BackendKind[]
  /** What a rented machine has to be found by again. */
  readonly memories?: Readonly<Partial<Record<BackendKind, MachineMemory>>>
  /** What the next command has to say about the last move. */
  readonly note?: string | undefined
}

export type NewSession = {
  readonly title?: string | null | undefined
  readonly source?: string | undefined
  readonly model?: string | null | undefined
  readonly parentId?: string | null | undefined
  readonly settings?: Settings | undefined
  /** The chat it lives in. */
  readonly origin?: Origin | undefined
  /** Nobody is to find it later: it goes by itself once it has answered. */
  readonly ephemeral?: boolean | undefined
}

/** The last numbers of messages and events that were given out. */
export type Given = { readonly message: number; readonly event: number }

export type SessionMetadata = {
  readonly id: string
  readonly tenantId: string
  readonly title: string | null
  readonly source: string
  readonly model: string | null
  readonly parentId: string | null
  readonly createdAt: number
  readonly settings: Settings
  /** Built when the first turn starts, and replayed byte for byte from then on. */
  readonly prompt?: string
  readonly todos: readonly Todo[]
  readonly shell?: ShellState
  /** What a person has allowed for this session, as `tool: rule`. */
  readonly grants?: readonly string[]
  readonly machine?: HostRecord
  /** Usage of turns that this object no longer has in its rows: those of a parent, or of a rebuilt session. */
  readonly usageBefore: Usage
  /** What was spent for a run after it had ended: a row of its own would be written for little. */
  readonly after?: { readonly run: string; readonly usage: Usage } | undefined
  /** Messages from this seq on were taken back, and history does not know it yet. */
  readonly retractedFrom?: number | undefined
  /** In the copy that history keeps: the last numbers given out, so that a rebuilt session gives out others. */
  readonly given?: Given
  /** The chat that gets to read whatever is answered. */
  readonly origin?: Origin
  /** A copy whose files are still on their way: to everybody it is not there yet. */
  readonly arriving?: true
  readonly ephemeral?: boolean
}

export const newMetadata = (
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
  todos: [],
  usageBefore: noUsage,
  ...(origin && { origin }),
  ...(ephemeral && { ephemeral }),
})
