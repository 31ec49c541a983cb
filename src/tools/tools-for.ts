/** Chooses the tools of a session from the built-in ones and from those that its tenant brings. */

import type { ServiceName, Tool, Toolbox } from '../agent/model/tool.ts'
import { expandToolset, tenantToolset, type ToolsetExpansion, toolsets } from './toolsets.ts'

const defaultToolsets = ['talaria-cli']

export type ToolSources = {
  readonly builtIn: readonly Tool[]
  /** Tools of MCP servers, plugins and skills. One with the name of a built-in tool is ignored. */
  readonly tenantTools?: readonly Tool[]
  /** Names of toolsets and of tools. */
  readonly enabled?: readonly string[] | undefined
  /** Wins over `enabled`. */
  readonly disabled?: readonly string[] | undefined
  /** The services that the session offers. */
  readonly services: ReadonlySet<ServiceName>
  /** The roles that the session has. */
  readonly roles?: readonly string[]
}

export type SessionTools = {
  /** Built-in tools in the order of their list, then tenant tools by name: a stable order keeps prompt caches valid. */
  readonly toolbox: Toolbox
  /** Names in `enabled` and `disabled` that are neither a toolset nor a tool. */
  readonly unknown: readonly string[]
}

export function toolsFor(sources: ToolSources): SessionTools {
  const { builtIn, enabled = defaultToolsets, disabled = [], services, roles = [] } = sources
  const tenantTools = distinctTenantTools(builtIn, sources.tenantTools ?? [])
  const tools = [...builtIn, ...tenantTools]
  const sets = { ...toolsets, [tenantToolset]: { tools: tenantTools.map(({ name }) => name) } }
  const unknown = new Set<string>()
  const membersOf = (names: readonly string[]): ReadonlySet<string> => {
    const expansion: ToolsetExpansion = { members: new Set(), unknown, visited: new Set() }
    for (const name of names) expandToolset(tools, name, expansion, sets)
    return expansion.members
  }
  const [included, excluded] = [membersOf(enabled), membersOf(disabled)]
  const usable = tools.filter(
    (tool) =>
      included.has(tool.name) &&
      !excluded.has(tool.name) &&
      tool.needs.every((need) => services.has(need)) &&
      (!tool.roles || tool.roles.some((role) => roles.includes(role))),
  )
  return { toolbox: new Map(usable.map((tool) => [tool.name, tool])), unknown: [...unknown] }
}

/** Lists the built-in tools of a toolset. */
export function listToolsetMembers(builtIn: readonly Tool[], name: string): readonly string[] {
  const expansion: ToolsetExpansion = { members: new Set(), unknown: new Set(), visited: new Set() }
  expandToolset(builtIn, name, expansion, toolsets)
  return builtIn.flatMap((tool) => (expansion.members.has(tool.name) ? [tool.name] : []))
}

/**
 * Sorted by name. Of two tools with one name the first stays, and a built-in tool keeps its name even when disabled.
 */
function distinctTenantTools(builtIn: readonly Tool[], tenantTools: readonly Tool[]): readonly Tool[] {
  const usedNames = new Set(builtIn.map(({ name }) => name))
  const distinct = tenantTools.filter(({ name }) => !usedNames.has(name) && usedNames.add(name))
  return distinct.toSorted((a, b) => (a.name < b.name ? -1 : 1))
}
