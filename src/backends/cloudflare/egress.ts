/**
 * Decides which hosts the containers of a tenant may reach, and which keys are added to their requests outside of the
 * container. The Durable Object that owns the container applies it.
 */

import { checkPublicAddress } from '#agent/policy/network/network-address.ts'
import { matchesWildcard } from '#agent/policy/wildcard.ts'

/** Sent with every script, so that changed settings apply to the next one. */
export type Egress = {
  readonly tenant: string
  /** Host names; `*.example.org` matches all subdomains. */
  readonly hosts: readonly string[]
}

export type EgressVariables = {
  readonly SANDBOX_ALLOWED_HOSTS?: string
  readonly SANDBOX_INJECT?: string
  readonly SANDBOX_NETWORK?: string
}

/** Merges the hosts of the deployment with the public ones among the tenant's. */
export function resolveEgress(tenant: string, own: readonly string[] = [], variables: EgressVariables): Egress {
  if (variables.SANDBOX_NETWORK === 'off') return { tenant, hosts: [] }
  const named = own.filter((host) => checkPublicAddress(`https://${host.replace(/^\*\./, '')}/`) === undefined)
  return { tenant, hosts: [...new Set([...deploymentHosts(variables), ...named])].toSorted() }
}

const deploymentHosts = ({ SANDBOX_ALLOWED_HOSTS = '' }: EgressVariables): readonly string[] =>
  SANDBOX_ALLOWED_HOSTS.split(',')
    .map((host) => host.trim())
    .filter(Boolean)

/**
 * Returns the `authorization` values of one tenant by host name. A key named `tenant/host` belongs to that tenant. One
 * named `host` belongs to the deployment, and applies only to hosts that the deployment itself allows.
 */
export function resolveKeys(tenant: string, variables: EgressVariables): Readonly<Record<string, string>> {
  const all = Object.entries(JSON.parse(variables.SANDBOX_INJECT || '{}') as Readonly<Record<string, string>>)
  const allowed = deploymentHosts(variables)
  const shared = all.filter(
    ([host]) => !host.includes('/') && allowed.some((pattern) => matchesWildcard(pattern, host)),
  )
  const prefix = `${tenant}/`
  const own = all.filter(([name]) => name.startsWith(prefix)).map(([name, key]) => [name.slice(prefix.length), key])
  return Object.fromEntries([...shared, ...own]) as Readonly<Record<string, string>>
}

export type InjectKeyParams = { readonly tenant: string }

/** Adds the key to a request, only over HTTPS, and prevents redirects that could leak it. */
export function injectKey(request: Request, { tenant }: InjectKeyParams, variables: EgressVariables): Request {
  const { protocol, hostname } = new URL(request.url)
  const keys = resolveKeys(tenant, variables)
  const key = protocol === 'https:' && Object.hasOwn(keys, hostname) ? keys[hostname] : undefined
  const headers = new Headers(request.headers)
  if (key !== undefined) headers.set('authorization', key)
  return new Request(request, { headers, redirect: 'manual' })
}
