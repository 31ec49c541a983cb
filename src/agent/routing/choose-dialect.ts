/** Which dialect is spoken: what the settings say, else the provider and its rules, else what the address tells. */

import type { DialectName, Quirks } from '../model/dialect.ts'
import type { Provider, ProviderRule } from '../providers/profiles/define-provider.ts'

const responsesModels = /^(gpt-([5-9]|\d\d)|codex)/

/** What an address says about its dialect. */
export function detectDialect(address: string, model: string): DialectName | undefined {
  const url = URL.parse(address)
  if (!url) return undefined
  if (/\/anthropic(\/v1)?\/?$|\/v1\/messages\/?$/.test(url.pathname)) return 'anthropic'
  if (url.hostname === 'api.openai.com' && responsesModels.test(model)) return 'openai-responses'
  return /^bedrock-runtime[.-].*\.amazonaws\.com$/.test(url.hostname) ? 'bedrock-converse' : undefined
}

/** What is put behind an address is the SDK's business: `/v1/messages` stands once. */
const trimSdkPath = (dialect: DialectName, address: string): string =>
  dialect === 'anthropic' ? address.replace(/\/v1(\/messages)?\/?$/, '') : address

export type DialectChoice = {
  readonly dialect: DialectName
  readonly baseUrl: string
  readonly headers: Readonly<Record<string, string>>
  readonly quirks: Quirks
}

/** The profile with all rules that hold for this model at this address with this key. */
export function chooseDialect(
  provider: Provider,
  asked: { readonly model: string; readonly address: string; readonly key: string },
  explicit?: DialectName,
): DialectChoice {
  const host = URL.parse(asked.address)?.hostname
  const rules = (provider.rules ?? []).filter((rule) => isRuleMatch(rule, { ...asked, host }))
  const address = rules.findLast(({ baseUrl }) => baseUrl)?.baseUrl ?? asked.address
  const dialect =
    explicit ??
    rules.findLast((rule) => rule.dialect)?.dialect ??
    provider.dialect ??
    detectDialect(address, asked.model) ??
    'openai-chat'
  return {
    dialect,
    baseUrl: trimSdkPath(dialect, address),
    headers: Object.assign({}, provider.headers, ...rules.map((rule) => rule.headers)) as DialectChoice['headers'],
    quirks: Object.assign({}, provider.quirks, ...rules.map((rule) => rule.quirks)) as Quirks,
  }
}

const isRuleMatch = (
  { model, host, key }: ProviderRule,
  asked: { readonly model: string; readonly host: string | undefined; readonly key: string },
): boolean => (!model || model.test(asked.model)) && (!host || host === asked.host) && (!key || key.test(asked.key))

/** Keys of one pool are interchangeable: those that other rules hold for than for the first one are not of it. */
export function filterInterchangeableKeys({ rules = [] }: Provider, keys: readonly string[]): readonly string[] {
  const kind = (name: string) => rules.filter(({ key }) => key?.test(name)).length
  return keys.filter((key) => kind(key) === kind(keys[0] ?? ''))
}
