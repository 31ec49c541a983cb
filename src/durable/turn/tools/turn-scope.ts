/** Reads what limits and extends the tools of the open or last turn: its authority and the tools of its client. */

import type { Authority } from '#agent/core/permission/authority.ts'
import { offeredTools, type ToolSchema } from '#agent/core/request/tool-schema.ts'
import type { TurnOptions } from '#agent/core/turn-options.ts'
import { memoryReach } from '#agent/memory/memory-reach.ts'
import { turnAuthority } from '../turn-authority.ts'

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
