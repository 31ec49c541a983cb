/** Which providers can be asked: where they are, which keys there are for them, and what is missing. */

import type { Settings } from '../model/settings.ts'
import type { Catalog } from '../providers/catalog/model-lookup.ts'
import { keyIdOf } from './key-selection.ts'
import { defineCustomProvider, type Provider, getProvider } from '../providers/profiles/providers.ts'

/** Texts of the deployment; of bindings it only matters whether they are there. */
export type Variables = Readonly<Record<string, string | undefined>>

/** A key and what it is called in records and logs, which tells nothing of it. */
export type NamedKey = { readonly id: string; readonly key: string }

/** Where keys come from, for a provider by its id, at the address they would be sent to. */
export type KeySource = (providerId: string, address: string) => readonly NamedKey[]

export type Sources = {
  readonly variables: Variables
  readonly settings?: Settings
  /** Keys that belong to the tenant: they go before the deployment's, and pay for that tenant alone. */
  readonly tenantKeys?: KeySource
  /** The settings are those of the deployment's owner. */
  readonly isOwner?: boolean
  readonly catalog?: Catalog | undefined
  /** Windows that were found out by asking for too much, by `provider/model`. */
  readonly learnedWindows?: Readonly<Record<string, number>>
}

/** A provider of the table by any of its names, or one of the tenant's own. */
export function findProvider(name: string, settings: Settings = {}): Provider | undefined {
  if (!name.startsWith('custom:')) return getProvider(name)
  const own = settings.providers?.[name]
  return own && defineCustomProvider(name, own.base_url, own.headers)
}

export const resolveBaseUrl = (provider: Provider, variables: Variables): string =>
  (
    variables[provider.baseUrlVariable]?.trim() ||
    provider.baseUrl ||
    fillTemplate(provider.baseUrlTemplate ?? '', variables)
  ).replace(/\/+$/, '')

/** `{A|B|text}`: the first variable that is set, else the text. */
const fillTemplate = (template: string, variables: Variables): string =>
  template.replace(/\{([^}]+)\}/g, (_whole, names: string) => {
    const choices = names.split('|')
    return choices.map((name) => variables[name]?.trim()).find(Boolean) ?? choices.at(-1) ?? ''
  })

const splitList = (value: string | undefined): readonly string[] =>
  (value ?? '')
    .split(',')
    .map((key) => key.trim())
    .filter(Boolean)

/** The deployment's keys for it. */
function listDeploymentKeys({ keys, keyParts }: Provider, variables: Variables): readonly string[] {
  const set = splitList(keys.map((name) => variables[name]).find((value) => value?.trim()))
  if (set.length || !keyParts) return set
  const parts = keyParts.map((name) => variables[name]?.trim())
  return parts[0] && parts[1] ? [parts.filter(Boolean).join(':')] : []
}

export type ProviderKeys = { readonly own: readonly NamedKey[]; readonly deployed: readonly NamedKey[] }

/** The tenant's keys and those of the deployment, each once. */
export function listKeys(provider: Provider, { tenantKeys, variables }: Sources): ProviderKeys {
  const own = tenantKeys?.(provider.id, resolveBaseUrl(provider, variables)) ?? []
  const known = new Set(own.map(({ key }) => key))
  const others = [...new Set(listDeploymentKeys(provider, variables))].filter((key) => !known.has(key))
  return { own, deployed: others.map((key) => ({ id: keyIdOf(key), key })) }
}

/** Others have a binding instead, or need nothing. */
export const acceptsKeys = ({ keys, id }: Provider): boolean => keys.length > 0 || id.startsWith('custom:')

/** What has to be done before it can be used; undefined when nothing has. */
export function getMissingRequirement(provider: Provider, sources: Sources): string | undefined {
  const { variables } = sources
  if (provider.binding) return variables[provider.binding] ? undefined : `needs the ${provider.binding} binding`
  if (provider.baseUrlVariable && !resolveBaseUrl(provider, variables)) return `set ${provider.baseUrlVariable}`
  if (!acceptsKeys(provider) || provider.optionalKey) return undefined
  const { own, deployed } = listKeys(provider, sources)
  return own.length || deployed.length
    ? undefined
    : `set ${provider.keys[0]}, or store a key of your own with POST /api/credentials`
}
