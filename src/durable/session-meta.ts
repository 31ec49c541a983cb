/** What a session is, apart from what was said in it. */

import type { Todo } from '../agent/model/tool.ts'
import type { ShellState } from '../agent/model/tool.ts'
import type { Settings } from '../agent/model/settings.ts'
import type { Usage } from '../agent/model/usage.ts'

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
}
