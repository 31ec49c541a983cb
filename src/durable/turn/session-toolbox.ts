/** Chooses the tools of one session for the settings and the authority of a turn. */

import type { ServiceName, SessionFacts, Tool, Toolbox } from '#agent/core/tool.ts'
import type { ToolSchema } from '#agent/core/request/tool-schema.ts'
import type { Settings } from '#agent/core/settings.ts'
import { loadShellPolicy } from '#backends/modules.ts'
import { tools as builtInTools, tools as builtIn } from '#tools/index.ts'
import type { DeferTools } from '#tools/search/defer-tools.ts'
import { listUnavailable, toolsFor, type Withheld } from '#tools/tools-for.ts'
import type { TenantKeys } from '#durable/models/credentials.ts'
import type { SessionServices, ToolRuntimeOptions } from './session-services.ts'
import { defaultContextWindow } from './compression/summariser.ts'
import { isSameScope, type ToolScope } from './tools/turn-scope.ts'
import { BoundedMap } from '#agent/core/bounded-map.ts'
import type { Authority } from '#agent/core/permission/authority.ts'
import { getPreset, workspaceToolsets } from '#tools/toolsets.ts'

type ToolboxChoice = {
  readonly settings: Settings
  readonly keys: TenantKeys
  readonly tenantTools: readonly Tool[] | undefined
  readonly window: number
  readonly scope: ToolScope
  readonly selected: OfferedTools
}

export class SessionToolbox {
  readonly #options: ToolRuntimeOptions
  readonly #services: SessionServices
  /** Kept, because a turn asks at each step. */
  #last: ToolboxChoice | undefined

  constructor(options: ToolRuntimeOptions, services: SessionServices) {
    this.#options = options
    this.#services = services
  }

  /** The last choice. Empty before the first. */
  last(): Toolbox {
    return this.#last?.selected.tools ?? new Map()
  }

  /** The tools that these settings and the authority of the turn allow, and that have what they need. */
  tools(settings: Settings, scope: ToolScope): Toolbox {
    return this.#choose(settings, scope).tools
  }

  /** Also loads the policy for commands, while the model thinks. */
  schemas(settings: Settings, scope: ToolScope): readonly ToolSchema[] {
    const { schemas, tools } = this.#choose(settings, scope)
    const loading = tools.has('terminal') && loadShellPolicy()
    if (loading instanceof Promise) this.#options.runInBackground(loading)
    return schemas
  }

  /** Whether another scope would have the tool. It does not become the last choice. */
  offers(tool: string, settings: Settings, scope: ToolScope): boolean {
    return this.#select(settings, scope).tools.has(tool)
  }

  #choose(settings: Settings, scope: ToolScope): OfferedTools {
    const [keys, tenantTools] = [this.#options.keys(), this.#options.tenantTools?.()]
    const last = this.#last
    const window = this.#window(tenantTools)
    const isSame = last?.settings === settings && last.keys === keys && last.tenantTools === tenantTools
    if (isSame && last.window === window && isSameScope(last.scope, scope)) return last.selected
    const selected = this.#select(settings, scope)
    this.#last = { settings, keys, tenantTools, window, scope, selected }
    return selected
  }

  /** The context window decides how many tools of the tenant are offered with their schemas. */
  #window(tenantTools: readonly Tool[] | undefined): number {
    return (tenantTools?.length && this.#options.window?.()) || defaultContextWindow
  }

  #select(settings: Settings, scope: ToolScope): OfferedTools {
    const tenantTools = this.#options.tenantTools?.()
    const { source } = this.#options.meta()
    const facts = { subagents: this.#options.subagents().limits() }
    const unavailable = listUnavailable(builtInTools, this.#services.deployment(settings))
    const services = this.#services.names(settings, scope)
    const deferral = { defer: this.#options.deferTools?.(), window: this.#window(tenantTools) }
    return turnTools(settings, { source, services, scope, facts, unavailable, deferral }, tenantTools)
  }
}

// Resolves the tools of a turn and renders them for the model: the agent's own, which sessions with the same choice
// share, and those of its client.

type Origin = {
  readonly source: string
  readonly services: readonly ServiceName[]
  /** Those of the authority of the turn. */
  readonly bounds?: Authority['toolBounds']
  readonly withheld?: Withheld
  readonly unavailable?: readonly string[]
  readonly facts: SessionFacts
  /** Absent: all tools are offered with their schemas. */
  readonly deferral?: { readonly defer: DeferTools | undefined; readonly window: number }
}

type OfferedTools = { readonly tools: Toolbox; readonly schemas: readonly ToolSchema[] }

const noTenantTools: readonly Tool[] = []
/** Choices kept per set of tenant tools. Sharing also shares what is counted and rendered once for a toolbox. */
const maxChoices = 1_000
const choices = new WeakMap<readonly Tool[], BoundedMap<string, OfferedTools>>()

/**
 * Resolves the tools of a turn. Tools of the client hide ours with the same names, and ours that act on a workspace:
 * the client has its own.
 */
function turnTools(
  settings: Settings,
  {
    scope,
    ...facts
  }: Pick<Origin, 'source' | 'services' | 'facts' | 'unavailable' | 'deferral'> & { readonly scope: ToolScope },
  tenantTools?: readonly Tool[],
): OfferedTools {
  const { toolBounds: bounds, clientTools, keptToolsets = [] } = scope
  const origin = { ...facts, ...(bounds && { bounds }) }
  if (!clientTools) return sessionTools(settings, origin, tenantTools)
  const except = [...(settings.api?.toolsets_with_client_tools ?? []), ...keptToolsets]
  const own = sessionTools(settings, { ...origin, withheld: { toolsets: workspaceToolsets, except } }, tenantTools)
  const names = new Set(clientTools.map(({ name }) => name))
  return {
    tools: new Map([...own.tools].filter(([name]) => !names.has(name))),
    schemas: [...own.schemas.filter(({ name }) => !names.has(name)), ...clientTools],
  }
}

/** `tenantTools`: the same array as long as the tools are the same. */
export function sessionTools(
  { toolsets, tools }: Settings,
  origin: Origin,
  tenantTools: readonly Tool[] = noTenantTools,
): OfferedTools {
  let cached = choices.get(tenantTools)
  if (!cached) choices.set(tenantTools, (cached = new BoundedMap(maxChoices)))
  const key = JSON.stringify([
    toolsets ?? {},
    getPreset(origin.source),
    origin.services,
    origin.bounds ?? [],
    origin.withheld,
    origin.unavailable ?? [],
    origin.facts,
    ...(tenantTools.length ? [tools ?? {}, origin.deferral?.defer && origin.deferral.window] : []),
  ])
  let chosen = cached.get(key)
  if (!chosen) cached.set(key, (chosen = choose({ toolsets, tools }, origin, tenantTools)))
  return chosen
}

function choose(
  { toolsets, tools }: Pick<Settings, 'toolsets' | 'tools'>,
  { source, services, bounds, withheld, facts, deferral, unavailable = [] }: Origin,
  tenantTools: readonly Tool[],
): OfferedTools {
  const { toolbox } = toolsFor({
    builtIn,
    tenantTools,
    source,
    enabled: toolsets?.enabled,
    disabled: toolsets?.disabled,
    bounds,
    withheld,
    unavailable,
    services: new Set(services),
  })
  const deferred = deferral?.defer?.(toolbox, tenantTools, { settings: tools?.tool_search, window: deferral.window })
  const offered = [...toolbox.values()].filter(({ name }) => !deferred?.isDeferred(name))
  const schemas = [...offered, ...(deferred?.search ?? [])].map(
    ({ name, description, describeWith, inputSchema, search }) => ({
      name,
      description: describeWith ? description + describeWith(toolbox, facts) : description,
      inputSchema,
      ...(search && { search }),
    }),
  )
  const all = deferred ? new Map([...toolbox, ...deferred.search.map((tool) => [tool.name, tool] as const)]) : toolbox
  return { tools: all, schemas }
}
