/** Refuses settings that would have no effect: misspelt toolsets and tools, and limits that count elsewhere. */

import type { Settings } from '#agent/core/settings.ts'
import { isToolsetOrTool, matchesAnyTool } from '#tools/tool-names.ts'
import { invalid } from '../errors.ts'

/** The limits that a session checks by itself. All others count for the tenant as a whole. */
const sessionLimits: readonly string[] = ['tokens_per_turn', 'tokens_per_session', 'usd_per_turn', 'usd_per_session']

/** `whose`: the settings of the tenant, or of one session. Values that are null remove a setting and are not checked. */
export function requireKnownSettings(settings: Settings, whose: 'tenant' | 'session'): void {
  requireKnownToolsets(settings)
  for (const [i, rule] of (settings.approvals?.rules ?? []).entries())
    if (!matchesAnyTool(rule.tool))
      throw invalid(`No tool is named ${rule.tool}. GET /api/tools lists them.`, `approvals.rules.${i}.tool`)
  for (const [name, value] of Object.entries(settings.limits ?? {})) {
    if (value === null) continue
    if (whose === 'session' && !sessionLimits.includes(name))
      throw invalid(`limits.${name} counts for the tenant: set it with PATCH /api/settings.`, `limits.${name}`)
  }
}

function requireKnownToolsets(settings: Settings): void {
  for (const field of ['enabled', 'disabled'] as const) requireToolsets(settings.toolsets?.[field], `toolsets.${field}`)
  requireToolsets(settings.api?.toolsets_with_client_tools, 'api.toolsets_with_client_tools')
  for (const [name, role] of Object.entries(settings.roles ?? {}))
    requireToolsets(role?.toolsets, `roles.${name}.toolsets`)
}

function requireToolsets(names: readonly string[] | null | undefined, field: string): void {
  for (const name of names ?? [])
    if (!isToolsetOrTool(name))
      throw invalid(`There is no toolset or tool ${name}. GET /v1/toolsets lists them.`, field)
}
