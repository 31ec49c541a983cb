/** Reads what limits and extends the tools of the open or last turn: its authority and the tools of its client. */

import type { Authority } from '#agent/core/permission/authority.ts'
import { offeredTools, type ToolSchema } from '#agent/core/request/tool-schema.ts'
import type { TurnOptions } from '#agent/core/turn-options.ts'
import { memoryReach } from '#agent/memory/memory-reach.ts'
import { turnAuthority } from '../turn-authority.ts'
import type { TurnSession } from '../turn-session.ts'

/** `clientTools`: offered beside the agent's own. `keptToolsets`: the request names these toolsets for itself. */
export type ToolScope = Pick<Authority, 'toolBounds'> & {
  readonly clientTools?: readonly ToolSchema[]
  readonly keptToolsets?: TurnOptions['toolsets']
  /** The authority reaches no memory. */
  readonly withoutMemory?: true
}

export const isSameScope = (a: ToolScope, b: ToolScope): boolean =>
  a.toolBounds === b.toolBounds &&
  a.clientTools === b.clientTools &&
  a.keptToolsets === b.keptToolsets &&
  a.withoutMemory === b.withoutMemory

/** Whether the turn would have this tool without others who have contributed to its conversation. */
export function isToolLost(session: TurnSession, tool: string): boolean {
  const authority = turnAuthority(session)
  const { withoutOthers: own } = authority
  if (!own) return false
  const { toolBounds: _, withoutMemory, ...scope } = turnScope(session)
  const { toolRuntime, settings } = session
  const wider = {
    ...scope,
    ...(own.toolBounds && { toolBounds: own.toolBounds }),
    ...(withoutMemory && !memoryReach({ ...authority, scopes: own.scopes }) && { withoutMemory }),
  }
  return !toolRuntime.toolbox(settings, turnScope(session)).has(tool) && toolRuntime.offers(tool, settings, wider)
}

export function turnScope(session: Parameters<typeof turnAuthority>[0]): ToolScope {
  const authority = turnAuthority(session)
  const { toolBounds } = authority
  const options = session.store.current()?.options
  const clientTools = options && offeredTools(options)
  return {
    ...(toolBounds && { toolBounds }),
    ...(!memoryReach(authority) && { withoutMemory: true }),
    ...(clientTools?.length && { clientTools, ...(options?.toolsets && { keptToolsets: options.toolsets }) }),
  }
}
