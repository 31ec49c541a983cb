/**
 * What the containers of a tenant may reach, and which key is added to a request outside of the container, which
 * never sees it. Pure; who applies it is the object that owns the container.
 */

import { checkPublicAddress } from '../../agent/policy/network-address.ts'
import { matchesWildcard } from '../../agent/policy/wildcard.ts'

/** Goes along with every script, so that a change of settings holds from the next one on. */
export type Egress = {
  readonly tenant: string
  /** Names; `*.example.org` is any name below it. */
  readonly hosts: readonly string[]
}

export type EgressVariables = {
  readonly SANDBOX_ALLOWED_HOSTS?: string
  readonly SANDBOX_INJECT?: string
  readonly SANDBOX_NETWORK?: string
}

/** The hosts of the deployment and those of the tenant, as far as they are public. */
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
 * `authorization` by host name for one tenant. A key under `tenant/host` is that tenant's. One under the host alone is
 * the deployment's, and goes only where the deployment has opened the way: a tenant that names the host does not get it.
 */
export function resolveKeys(tenant: string, variables: EgressVariables): Readonly<Record<string, string>> {
  const all = Object.entries(JSON.parse(variables.SANDBOX_INJECT || '{}') as Readonly<Record<string, string>>)
  const opened = deploymentHosts(variables)
  const shared = all.filter(([host]) => !host.includes('/') && opened.some((pattern) => matchesWildcard(pattern, host)))
  const prefix = `${tenant}/`
  const own = all.filter(([name]) => name.startsWith(prefix)).map(([name, key]) => [name.slice(prefix.length), key])
  return Object.fromEntries([...shared, ...own]) as Readonly<Record<string, string>>
}

/** What the SDK offers for one container. */
export type EgressControl = {
  readonly setAllowedHosts: (hosts: string[]) => Promise<void>
  readonly setOutboundByHosts: (
    handlers: Record<string, { readonly method: string; readonly params: InjectKeyParams }>,
  ) => Promise<void>
}
export type InjectKeyParams = { readonly tenant: string }

/** Who adds keys comes first: at no time does a request leave that should have one and has none. */
export async function applyEgress(gate: EgressControl, { tenant, hosts }: Egress, variables: EgressVariables): Promise<void> {
  const keyed = Object.keys(resolveKeys(tenant, variables)).map((host) => [host, { method: 'inject', params: { tenant } }])
  await gate.setOutboundByHosts(Object.fromEntries(keyed) as Parameters<EgressControl['setOutboundByHosts']>[0])
  await gate.setAllowedHosts([...hosts])
}

/** The request as it leaves. A key goes out encrypted or not at all, and no redirect takes it elsewhere. */
export function injectKey(request: Request, { tenant }: InjectKeyParams, variables: EgressVariables): Request {
  const { protocol, hostname } = new URL(request.url)
  const keys = resolveKeys(tenant, variables)
  const key = protocol === 'https:' && Object.hasOwn(keys, hostname) ? keys[hostname] : undefined
  const headers = new Headers(request.headers)
  if (key !== undefined) headers.set('authorization', key)
  return new Request(request, { headers, redirect: 'manual' })
}
