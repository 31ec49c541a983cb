/** Lists the files and folders that a call works on. */

import type { ToolCall } from '#agent/core/turn.ts'
import type { DispatchOptions } from '#tools/dispatch.ts'

/** Absolute paths. For a command it is the directory where the command ended. */
export function listTouchedPaths(
  calls: readonly ToolCall[],
  id: string,
  { toolbox, services }: Pick<DispatchOptions, 'toolbox' | 'services'>,
): readonly string[] {
  const call = calls.find((each) => each.id === id)
  const tool = call && toolbox.get(call.name)
  if (!tool?.needs.includes('backend')) return []
  const touched = tool.touches(call?.input, services)
  if (touched === 'nothing') return []
  return touched === 'alone' ? [services.shell?.read().cwd ?? '/'] : touched
}
