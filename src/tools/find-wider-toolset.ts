/** Finds the toolset of a request that has tools which its session may not use. */

import { isServerTool } from './tool-names.ts'
import { expandToolsets, type ToolSources } from './tools-for.ts'
import { presetBounds, getPreset } from './toolsets.ts'

/** A tool of an MCP server is known to the session only, so that it counts as allowed unless it is disabled by name. */
export function findWiderToolset(
  requested: readonly string[],
  { source = '', enabled, disabled = [], bounds = [] }: Pick<ToolSources, 'source' | 'enabled' | 'disabled' | 'bounds'>,
): string | undefined {
  const preset = getPreset(source)
  const { only, never = [] } = presetBounds[preset] ?? {}
  const lists = [enabled ?? [preset], ...(only ? [only] : []), ...bounds].map(expandToolsets)
  const excluded = expandToolsets([...disabled, ...never])
  const isAllowed = (tool: string) =>
    !excluded.has(tool) && (isServerTool(tool) || lists.every((allowed) => allowed.has(tool)))
  return requested.find((name) => ![...expandToolsets([name])].every(isAllowed))
}
