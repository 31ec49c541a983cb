/** Chooses the tools of a session from the built-in ones and from those that its tenant brings. */

import type { ServiceName, Tool, Toolbox } from '#agent/core/tool.ts'
import type { ToolDeployment } from '#agent/core/vendor/tool-deployment.ts'
import type { ExpandToolsets } from '#agent/policy/settings/setting-classes.ts'
import { tools as builtInTools } from './index.ts'
import { expandToolset, presetBounds, getPreset, tenantToolset, type ToolsetExpansion, toolsets } from './toolsets.ts'

export type Withheld = { readonly toolsets: readonly string[]; readonly except: readonly string[] }

export type ToolSources = {
  readonly builtIn: readonly Tool[]
  /** Tools of MCP servers, plugins and skills. One with the name of a built-in tool is ignored. */
  readonly tenantTools?: readonly Tool[]
  /** The source of the session, whose preset is the default. */
  readonly source?: string | undefined
  /** Names of toolsets and of tools. */
  readonly enabled?: readonly string[] | undefined
  /** Wins over `enabled`. */
  readonly disabled?: readonly string[] | undefined
  /** Lists of toolsets and tools: a tool has to be in each of them, beside all else. */
  readonly bounds?: readonly (readonly string[])[] | undefined
  /** Toolsets that are left out, but for what `except` names. */
  readonly withheld?: Withheld | undefined
  /** The services that the session offers. */
  readonly services: ReadonlySet<ServiceName>
  /** Names of tools that lack a vendor, a binding or a setting. */
  readonly unavailable?: readonly string[]
}

export type SessionTools = {
  /** Built-in tools in the order of their list, then tenant tools by name: a stable order keeps prompt caches valid. */
  readonly toolbox: Toolbox
  /** Names in `enabled` and `disabled` that are neither a toolset nor a tool. */
  readonly unknown: readonly string[]
}

export function toolsFor(sources: ToolSources): SessionTools {
  const preset = getPreset(sources.source ?? '')
  const { builtIn, enabled = [preset], disabled = [], bounds = [], withheld, services } = sources
  const { unavailable = [] } = sources
  const { only, never = [] } = presetBounds[preset] ?? {}
  const tenantTools = distinctTenantTools(builtIn, sources.tenantTools ?? [])
  const tools = [...builtIn, ...tenantTools]
  const sets = { ...toolsets, [tenantToolset]: { tools: tenantTools.map(({ name }) => name) } }
  const unknown = new Set<string>()
  const membersOf = (names: readonly string[]): ReadonlySet<string> => {
    const expansion: ToolsetExpansion = { members: new Set(), unknown, visited: new Set() }
    for (const name of names) expandToolset(tools, name, expansion, sets)
    return expansion.members
  }
  const [included, excluded] = [membersOf(enabled), membersOf([...disabled, ...never])]
  const isWithheld = createWithheldTest(withheld, membersOf)
  const allBounds = [...(only ? [only] : []), ...bounds].map(membersOf)
  const usable = tools.filter(
    (tool) =>
      included.has(tool.name) &&
      !excluded.has(tool.name) &&
      !isWithheld(tool.name) &&
      allBounds.every((bound) => bound.has(tool.name)) &&
      tool.needs.every((need) => services.has(need)) &&
      !unavailable.includes(tool.name),
  )
  return { toolbox: new Map(usable.map((tool) => [tool.name, tool])), unknown: [...unknown] }
}

/** Lists the tools that lack a vendor, a binding or a setting in this deployment. */
export const listUnavailable = (builtIn: readonly Tool[], deployment: ToolDeployment): readonly string[] =>
  builtIn.flatMap(({ name, availability }) => (availability?.(deployment).reason === undefined ? [] : [name]))

/** Creates a test whether a tool belongs to the withheld toolsets, and not to the exceptions. */
function createWithheldTest(
  withheld: ToolSources['withheld'],
  membersOf: (names: readonly string[]) => ReadonlySet<string>,
): (name: string) => boolean {
  if (!withheld) return () => false
  const [hidden, kept] = [membersOf(withheld.toolsets), membersOf(withheld.except)]
  return (name) => hidden.has(name) && !kept.has(name)
}

/** Lists the built-in tools of a toolset. */
export function listToolsetMembers(builtIn: readonly Tool[], name: string): readonly string[] {
  const expansion: ToolsetExpansion = { members: new Set(), unknown: new Set(), visited: new Set() }
  expandToolset(builtIn, name, expansion, toolsets)
  return builtIn.flatMap((tool) => (expansion.members.has(tool.name) ? [tool.name] : []))
}

const everything: ReadonlySet<string> = new Set(['all', '*'])

/**
 * The names of the tools that toolsets stand for, whether they exist here or not. A name that is no toolset stands for
 * itself: it may become a tool of the tenant.
 */
export const expandToolsets: ExpandToolsets = (names = [getPreset('')]) => {
  const members = new Set<string>()
  const sets = { ...toolsets, [tenantToolset]: {} }
  for (const name of names.flatMap((each) => (everything.has(each) ? [each, ...Object.keys(toolsets)] : [each]))) {
    const expansion: ToolsetExpansion = { members, unknown: new Set(), visited: new Set() }
    expandToolset(builtInTools, name, expansion, sets)
    for (const unknown of expansion.unknown) members.add(unknown)
  }
  return members
}

/**
 * Sorted by name. Of two tools with one name the first stays, and a built-in tool keeps its name even when disabled.
 */
function distinctTenantTools(builtIn: readonly Tool[], tenantTools: readonly Tool[]): readonly Tool[] {
  const usedNames = new Set(builtIn.map(({ name }) => name))
  const distinct = tenantTools.filter(({ name }) => !usedNames.has(name) && usedNames.add(name))
  return distinct.toSorted((a, b) => (a.name < b.name ? -1 : 1))
}
