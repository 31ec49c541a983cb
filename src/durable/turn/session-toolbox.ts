/** Chooses the tools of one session for the settings and the authority of a turn. */

import type { Tool, Toolbox } from '#agent/core/tool.ts'
import type { ToolSchema } from '#agent/core/request/tool-schema.ts'
import type { Settings } from '#agent/core/settings.ts'
import { loadShellPolicy } from '#backends/modules.ts'
import { tools as builtInTools } from '#tools/index.ts'
import { listUnavailable } from '#tools/tools-for.ts'
import type { TenantKeys } from '#durable/models/credentials.ts'
import type { SessionServices, ToolRuntimeOptions } from './session-services.ts'
import { type OfferedTools, turnTools } from './tools/session-tools.ts'
import { isSameScope, type ToolScope } from './tools/turn-scope.ts'

type ToolboxChoice = {
  readonly settings: Settings
  readonly keys: TenantKeys
  readonly tenantTools: readonly Tool[] | undefined
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

  #choose(settings: Settings, scope: ToolScope): OfferedTools {
    const [keys, tenantTools] = [this.#options.keys(), this.#options.tenantTools?.()]
    const last = this.#last
    const isSame = last?.settings === settings && last.keys === keys && last.tenantTools === tenantTools
    if (isSame && isSameScope(last.scope, scope)) return last.selected
    const { source } = this.#options.meta()
    const facts = { subagents: this.#options.subagents().limits() }
    const unavailable = listUnavailable(builtInTools, this.#services.deployment(settings))
    const services = this.#services.names(settings, scope)
    const selected = turnTools(settings, { source, services, scope, facts, unavailable }, tenantTools)
    this.#last = { settings, keys, tenantTools, scope, selected }
    return selected
  }
}
