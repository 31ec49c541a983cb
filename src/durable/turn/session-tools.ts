/** Resolves the tools of a session and renders them for the model. Sessions with the same choice share the result. */

import { BoundedMap } from '../../agent/model/bounded-map.ts'
import type { Authority } from '../../agent/model/authority.ts'
import type { ToolSchema } from '../../agent/model/dialect.ts'
import type { Settings } from '../../agent/model/settings.ts'
import type { ServiceName, Tool, Toolbox } from '../../agent/model/tool.ts'
import { tools as builtIn } from '../../tools/index.ts'
import { presetOf } from '../../tools/toolsets.ts'
import { toolsFor } from '../../tools/tools-for.ts'

type Origin = {
  readonly source: string
  readonly services: readonly ServiceName[]
  /** Those of the authority of the turn. */
  readonly bounds?: Authority['toolBounds']
}

export type SessionTools = { readonly tools: Toolbox; readonly schemas: readonly ToolSchema[] }

const noTenantTools: readonly Tool[] = []
/** Choices kept per set of tenant tools. Sharing also shares what is counted and rendered once for a toolbox. */
const maxChoices = 1_000
const choices = new WeakMap<readonly Tool[], BoundedMap<string, SessionTools>>()

/** `tenantTools`: the same array as long as the tools are the same. */
export function sessionTools(
  { toolsets }: Settings,
  origin: Origin,
  tenantTools: readonly Tool[] = noTenantTools,
): SessionTools {
  let cached = choices.get(tenantTools)
  if (!cached) choices.set(tenantTools, (cached = new BoundedMap(maxChoices)))
  const key = JSON.stringify([toolsets ?? {}, presetOf(origin.source), origin.services, origin.bounds ?? []])
  let chosen = cached.get(key)
  if (!chosen) cached.set(key, (chosen = choose({ toolsets }, origin, tenantTools)))
  return chosen
}

function choose(
  { toolsets }: Pick<Settings, 'toolsets'>,
  { source, services, bounds }: Origin,
  tenantTools: readonly Tool[],
): SessionTools {
  const { toolbox } = toolsFor({
    builtIn,
    tenantTools,
    source,
    enabled: toolsets?.enabled,
    disabled: toolsets?.disabled,
    bounds,
    services: new Set(services),
  })
  const schemas = [...toolbox.values()].map(({ name, description, describeWith, inputSchema }) => ({
    name,
    description: describeWith ? description + describeWith(toolbox) : description,
    inputSchema,
  }))
  return { tools: toolbox, schemas }
}
