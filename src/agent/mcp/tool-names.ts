/** Names the tools of MCP servers for models, and chooses which of them a server offers. */

import { hash53 } from '#agent/core/hash53.ts'
import { matchesWildcard } from '#agent/policy/wildcard.ts'

export const maxNameChars = 64

const clean = (part: string): string => part.replace(/[^A-Za-z0-9_-]/g, '_')
const digits = (text: string): string => hash53(text).toString(16).padStart(6, '0').slice(-6)

/** Returns a name for each tool of a server, by the server's name of it. Equal and overlong names get digits of a hash. */
export function nameTools(alias: string, tools: readonly string[]): ReadonlyMap<string, string> {
  const names = new Map<string, string>()
  const used = new Set<string>()
  for (const tool of tools.toSorted()) {
    const full = `mcp__${clean(alias)}__${clean(tool)}`
    const name = full.length <= maxNameChars && !used.has(full) ? full : findFreeName(full, tool, used)
    used.add(name)
    names.set(tool, name)
  }
  return names
}

function findFreeName(full: string, tool: string, used: ReadonlySet<string>): string {
  for (let n = 0; ; n++) {
    const name = `${full.slice(0, maxNameChars - 7)}_${digits(`${tool}${n || ''}`)}`
    if (!used.has(name)) return name
  }
}

export type ToolFilter = {
  readonly include?: readonly string[] | undefined
  readonly exclude?: readonly string[] | undefined
}

/** Whether a filter of wildcards lets a tool through. A tool that `include` names stays. */
export function passesFilter(tool: string, { include, exclude }: ToolFilter): boolean {
  if (include?.length) return include.some((pattern) => matchesWildcard(pattern, tool))
  return !exclude?.some((pattern) => matchesWildcard(pattern, tool))
}
