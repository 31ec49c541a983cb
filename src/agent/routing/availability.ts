/** Resolves providers: finds them by name, resolves their address and keys, and reports what is missing for them. */

import type { Settings } from '#agent/core/settings.ts'
import type { Catalog } from '#agent/providers/catalog/model-lookup.ts'
import { keyIdOf } from './key-selection.ts'
import { defineCustomProvider, type Provider, getProvider } from '#agent/providers/profiles/providers.ts'

/** Variables and secrets of the deployment. A binding is present as any non-empty text. */
export type Variables = Readonly<Record<string, string | undefined>>

/** A key with the id that stands for it in records and logs. The id reveals nothing about the key. */
export type NamedKey = { readonly id: string; readonly key: string }

/** Returns the keys for a provider id. `address` is where the keys would be sent. */
export type KeySource = (providerId: string, address: string) => readonly NamedKey[]

/** The inputs from which routes are resolved. */
export type Sources = {
  readonly variables: Variables
  readonly settings?: Settings
  /** Keys of the tenant. They are used before those of the deployment, and for this tenant only. */
  readonly tenantKeys?: KeySource
  /** The settings belong to the owner of the deployment. */
  readonly isOwner?: boolean
  readonly catalog?: Catalog | undefined
  /** Context windows learned from `too-long` errors, by `provider/model`. */
  readonly learnedWindows?: Readonly<Record<string, number>>
}

/** Finds a built-in provider by id or alias, or a tenant's provider `custom:<name>`. */
export function findProvider(name: string, settings: Settings = {}): Provider | undefined {
  if (!name.startsWith('custom:')) return getProvider(name)
  const customProvider = settings.providers?.[name]
  return customProvider && defineCustomProvider(name, customProvider.base_url, customProvider.headers)
}

export const resolveBaseUrl = (provider: Provider, variables: Variables): string =>
  (
    variables[provider.baseUrlVariable]?.trim() ||
    provider.baseUrl ||
    fillTemplate(provider.baseUrlTemplate ?? '', variables)
  ).replace(/\/+$/, '')

/** Replaces `{A|B|text}` by the first variable that is set, else by the text. */
const fillTemplate = (template: string, variables: Variables): string =>
  template.replace(/\{([^{}]+)\}/g, (_whole, names: string) => {
    const choices = names.split('|')
    return choices.map((name) => variables[name]?.trim()).find(Boolean) ?? choices.at(-1) ?? ''
  })

/** A key in JSON is one key. */
const splitList = (value = ''): readonly string[] =>
  (/^\s*\{/.test(value) ? [value] : value.split(',')).map((key) => key.trim()).filter(Boolean)

/** Lists the deployment's keys for a provider: a comma-separated variable, or one key joined from its parts. */
function listDeploymentKeys({ keys, keyParts }: Provider, variables: Variables): readonly string[] {
  const set = splitList(keys.map((name) => variables[name]).find((value) => value?.trim()))
  if (set.length || !keyParts) return set
  const parts = keyParts.map((name) => variables[name]?.trim())
  return parts[0] && parts[1] ? [parts.filter(Boolean).join(':')] : []
}

export type ProviderKeys = { readonly tenant: readonly NamedKey[]; readonly deployment: readonly NamedKey[] }

/** Lists the keys of the tenant and those of the deployment, without duplicates. */
export function listKeys(provider: Provider, { tenantKeys, variables }: Sources): ProviderKeys {
  const tenant = tenantKeys?.(provider.id, resolveBaseUrl(provider, variables)) ?? []
  const tenantKeyTexts = new Set(tenant.map(({ key }) => key))
  const deploymentKeys = [...new Set(listDeploymentKeys(provider, variables))].filter((key) => !tenantKeyTexts.has(key))
  return { tenant, deployment: deploymentKeys.map((key) => ({ id: keyIdOf(key), key })) }
}

/** Whether keys can be stored for the provider. The others use a binding or need no key. */
export const acceptsKeys = ({ keys, id }: Provider): boolean => keys.length > 0 || id.startsWith('custom:')

/** Returns what a person has to do before the provider is usable; undefined when it is usable. */
export function getMissingRequirement(provider: Provider, sources: Sources): string | undefined {
  const { variables } = sources
  if (provider.binding) return variables[provider.binding] ? undefined : `needs the ${provider.binding} binding`
  if (provider.baseUrlVariable && !resolveBaseUrl(provider, variables)) return `set ${provider.baseUrlVariable}`
  const { tenant, deployment } = listKeys(provider, sources)
  if (provider.signIn)
    return tenant.length ? undefined : `sign in to ${provider.signIn} with POST /api/credentials/oauth`
  if (!acceptsKeys(provider) || provider.isKeyOptional) return undefined
  return tenant.length || deployment.length
    ? undefined
    : `set ${provider.keys[0]}, or store a key of your own with POST /api/credentials`
}
