/**
 * Provides the redactor of a tenant: its opened secrets, those of the deployment, and the formats of secrets. Whatever
 * opens a secret remembers it here, so that it is masked wherever text leaves.
 */

import { BoundedMap } from '#agent/core/bounded-map.ts'
import { createRedactor, type Redactor } from '#agent/core/secrets/redaction.ts'
import { variablesOf } from './variables.ts'

type MaskedSecrets = { readonly bySource: Map<string, readonly string[]>; redactor: Redactor | undefined }

const maxTenants = 5_000
const secretsOf = new BoundedMap<string, MaskedSecrets>(maxTenants)
const deploymentRedactors = new WeakMap<Env, Redactor>()
/** Redactors contain the deployment's secrets: another deployment in the same isolate, as in tests, needs new ones. */
let lastEnv: WeakRef<Env> | undefined

/**
 * Remembers the opened secrets of a tenant from one source, such as its credentials. They replace the earlier ones of
 * this source.
 */
export function rememberSecrets(tenantId: string, source: string, values: readonly string[]): void {
  const known = secretsOf.get(tenantId) ?? { bySource: new Map<string, readonly string[]>(), redactor: undefined }
  const before = known.bySource.get(source)
  // Each call of a server opens the same token again, and a new redactor lists all forms of all secrets.
  if (before?.length === values.length && before.every((value, at) => value === values[at])) return
  known.bySource.set(source, values)
  secretsOf.set(tenantId, { bySource: known.bySource, redactor: undefined })
}

/** Returns the redactor for text that concerns this tenant, or no tenant. */
export function redactorFor(env: Env, tenantId?: string): Redactor {
  if (lastEnv?.deref() !== env) {
    for (const secrets of secretsOf.values()) secrets.redactor = undefined
    lastEnv = new WeakRef(env)
  }
  const secrets = tenantId === undefined ? undefined : secretsOf.get(tenantId)
  if (!secrets) return deploymentRedactor(env)
  return (secrets.redactor ??= createRedactor([...deploymentSecrets(env), ...[...secrets.bySource.values()].flat()]))
}

function deploymentRedactor(env: Env): Redactor {
  const cached = deploymentRedactors.get(env)
  if (cached) return cached
  const redactor = createRedactor(deploymentSecrets(env))
  deploymentRedactors.set(env, redactor)
  return redactor
}

const secretVariable = /(?:_KEY|_KEY_PREVIOUS|_KEY_ID|_TOKEN|_SECRET|_PASSWORD|_CREDENTIALS)$/

/** Lists the secrets among the variables of the deployment. Several keys are separated by commas. */
function deploymentSecrets(env: Env): readonly string[] {
  const variables = variablesOf(env)
  const values = Object.keys(variables).flatMap((name) => {
    const value: unknown = secretVariable.test(name) ? variables[name] : undefined
    return typeof value === 'string' ? value.split(',').map((each) => each.trim()) : []
  })
  return [...values, ...injectedKeys(variables['SANDBOX_INJECT'])]
}

/** `SANDBOX_INJECT` is JSON: values of `authorization` by host. */
function injectedKeys(text: string | undefined): readonly string[] {
  try {
    return Object.values(JSON.parse(text || '{}') as Record<string, unknown>).flatMap((value) =>
      typeof value === 'string' ? [value, value.replace(/^\S+\s+/, '')] : [],
    )
  } catch {
    return [] // The backend that uses it reports the mistake.
  }
}
