/** Defines the profile of a provider. A profile is plain data, so a new provider is one new entry in `providers.ts`. */

import type { DialectName, Quirks } from '#agent/core/dialect.ts'

export type Provider = {
  readonly id: string
  readonly aliases?: readonly string[]
  /** Default: detected from the address. */
  readonly dialect?: DialectName | undefined
  /** Used literally, because it may come from a tenant. Empty: `baseUrlTemplate` or a variable supplies it. */
  readonly baseUrl: string
  /** `{A|B|text}` is replaced by the first variable that is set, else by the text. Only built-in providers have a template. */
  readonly baseUrlTemplate?: string
  /** Name of the variable that overrides `baseUrl`. */
  readonly baseUrlVariable: string
  /** Names of the variables that hold keys; the first that is set wins. Empty: no key is needed. */
  readonly keys: readonly string[]
  /** Variables whose values are joined by colons to form one key; the last one is optional. */
  readonly keyParts?: readonly string[]
  /** Paid by subscription: the name of the service that a tenant signs in to instead of storing a key. */
  readonly signIn?: string
  /** Usable without a key once its address is set. */
  readonly isKeyOptional?: true
  /** Variables that name the region to sign for; the first that is set wins. */
  readonly regionVariables?: readonly string[]
  /** Name of the Worker binding that replaces a key. */
  readonly binding?: 'AI'
  readonly headers: Readonly<Record<string, string>>
  readonly quirks?: Quirks
  /** Overrides for certain models, hosts or keys. All matching rules apply; later rules win. */
  readonly rules?: readonly ProviderRule[]
  /** Forwards requests to other providers. */
  readonly isAggregator?: boolean
  /** First back-off after an `overloaded` error; doubles with each retry. */
  readonly overloadMs?: number
  /** Used when only the key is set. Empty: the deployment has to name a model. */
  readonly defaultModel: string
  /** A cheap model for side calls. */
  readonly auxModel?: string
  /** Name of the provider in models.dev. */
  readonly catalog?: string
  /** The lists name every model of it. Others run models that nobody lists, such as deployments of a customer. */
  readonly listsAllModels?: true
}

export type ProviderRule = {
  readonly model?: RegExp
  readonly host?: string
  readonly key?: RegExp
  readonly dialect?: DialectName
  readonly baseUrl?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly quirks?: Quirks
}

/** The models of Claude that can be bound to a schema, by their names at every provider. */
export const structuredClaude = /claude-(opus|sonnet|haiku|fable)-(4-[5-9]|4\.[5-9]|[5-9]|\d\d)/

export const projectUrl = 'https://github.com/talaria-agent/talaria'

/** Identifies the client, because some hosts admit or bill by client. The SDKs would send their own name. */
const userAgentHeader = { 'User-Agent': `Talaria (+${projectUrl})` }

type ProviderProfile = Partial<Provider> & Pick<Provider, 'id' | 'baseUrl'>

/** Fills in the defaults: the dialect `openai-chat`, and the variables NAME_API_KEY and NAME_BASE_URL. */
export function defineProvider(profile: ProviderProfile): Provider {
  const name = profile.id.toUpperCase().replaceAll('-', '_')
  return {
    dialect: 'openai-chat',
    keys: [`${name}_API_KEY`],
    baseUrlVariable: `${name}_BASE_URL`,
    defaultModel: '',
    ...profile,
    // Requests to a binding do not leave the Worker, so they carry no client name.
    headers: { ...(!profile.binding && userAgentHeader), ...profile.headers },
    quirks: { maxTokensField: 'max_tokens', ...profile.quirks },
  }
}
