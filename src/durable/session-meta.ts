/** What a session is, apart from what was said in it. */

import type { Todo } from '../agent/model/tool.ts'
import type { ShellState } from '../agent/model/tool.ts'
import type { Settings } from '../agent/model/settings.ts'
import type { Usage } from '../agent/model/usage.ts'

/** The last numbers of messages and events that were given out. */
export type Given = { readonly message: number; readonly event: number }

export type SessionMeta = {
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
  /** Usage of turns that this object no longer has in its rows: those of a parent, or of a rebuilt session. */
  readonly usageBefore: Usage
  /** Messages from this seq on were taken back, and history does not know it yet. */
  readonly retractedFrom?: number | undefined
  /** In the copy that history keeps: the last numbers given out, so that a rebuilt session gives out others. */
  readonly given?: Given
}
