/** What is known of a provider: data, so that adding one is adding an entry. */

import type { DialectName, Quirks } from '../../model/dialect.ts'

export type Provider = {
  readonly id: string
  readonly aliases?: readonly string[]
  /** Absent: the address decides. */
  readonly dialect?: DialectName | undefined
  /** Taken as it is written: it may be a tenant's. Empty: a template makes it, or the deployment names it. */
  readonly baseUrl: string
  /** `{A|B|text}` stands for the first variable that is set, else for the text. Only providers of our table have one. */
  readonly baseUrlTemplate?: string
  /** Variable that replaces `baseUrl`. */
  readonly baseUrlVariable: string
  /** Names of the variables that hold keys, the first that is set wins. Empty: no key is needed. */
  readonly keys: readonly string[]
  /** Variables that make a key together, joined by colons; the last one may be absent. */
  readonly keyParts?: readonly string[]
  /** It may be used without a key, once it has an address. */
  readonly optionalKey?: true
  /** Name of the binding it needs instead of a key. */
  readonly binding?: 'AI'
  readonly headers: Readonly<Record<string, string>>
  readonly quirks?: Quirks
  /** For models of a name, on a host, with a key of a kind; all that match hold, later ones win. */
  readonly rules?: readonly ProviderRule[]
  /** It passes requests on to others. */
  readonly aggregator?: boolean
  /** What it takes to come to itself when it is overloaded: so long, then twice as long, and so on. */
  readonly overloadMs?: number
  /** Taken when only the key is set; empty: the deployment has to name a model. */
  readonly defaultModel: string
  /** A cheap one, for calls beside the conversation. */
  readonly auxModel?: string
  /** Its name in the public catalog models.dev. */
  readonly catalog?: string
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

export const projectUrl = 'https://github.com/talaria-agent/talaria'

/** Hosts that admit known clients only, or bill by them, want to know who asks; the SDKs would name themselves. */
const userAgentHeader = { 'User-Agent': `Talaria (+${projectUrl})` }

type ProviderProfile = Partial<Provider> & Pick<Provider, 'id' | 'baseUrl'>

/** The usual: chat completions, with NAME_API_KEY and NAME_BASE_URL. */
export function defineProvider(given: ProviderProfile): Provider {
  const name = given.id.toUpperCase().replaceAll('-', '_')
  return {
    dialect: 'openai-chat',
    keys: [`${name}_API_KEY`],
    baseUrlVariable: `${name}_BASE_URL`,
    defaultModel: '',
    ...given,
    // A binding is asked by nobody but its own worker.
    headers: { ...(!given.binding && userAgentHeader), ...given.headers },
    quirks: { maxTokensField: 'max_tokens', ...given.quirks },
  }
}
