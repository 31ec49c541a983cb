/** Describes to tools what the deployment and a tenant bring for them. */

import type { Settings } from '#agent/core/settings.ts'
import type { ToolBinding, ToolDeployment } from '#agent/core/vendor/tool-deployment.ts'
import type { KeySource } from '#agent/routing/availability.ts'
import { hasProvider } from '#agent/routing/default-model.ts'
import { resolveVendor } from '#agent/routing/tool-vendors.ts'
import { variablesOf } from '#durable/platform/variables.ts'
import { cachedKeys, keySource } from './credentials.ts'

type VendorTenant = {
  readonly id: string
  readonly settings: Settings
  /** Absent: the keys that this isolate has opened. */
  readonly tenantKeys?: KeySource
}

export function createToolDeployment(env: Env, tenant: VendorTenant): ToolDeployment {
  const tenantKeys = tenant.tenantKeys ?? keySource(cachedKeys(tenant.id), tenant.settings)
  const variables = variablesOf(env)
  const bindings = env as unknown as Readonly<Record<ToolBinding, object | undefined>>
  return {
    settings: tenant.settings,
    vendor: (id) => resolveVendor(id, { variables, tenantKeys }),
    hasProvider: () => hasProvider({ variables, tenantKeys, settings: tenant.settings }),
    hasBinding: (name) => Boolean(bindings[name]),
    variable: (name) => variables[name]?.trim() || undefined,
  }
}
