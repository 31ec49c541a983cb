/** Chooses the dialect of a route: from the settings, else the provider's rules, else its profile, else the address. */

import type { DialectName, Quirks } from '#agent/core/dialect.ts'
import type { Provider, ProviderRule } from '#agent/providers/profiles/define-provider.ts'

const responsesModels = /^(gpt-([5-9]|\d\d)|codex)/

/** Detects the dialect from the address. Undefined when the address gives no hint. */
export function detectDialect(address: string, model: string): DialectName | undefined {
  const url = URL.parse(address)
  if (!url) return undefined
  if (/\/anthropic(\/v1)?\/?$|\/v1\/messages\/?$/.test(url.pathname)) return 'anthropic'
  if (url.hostname === 'api.openai.com' && responsesModels.test(model)) return 'openai-responses'
  return /^bedrock-runtime[.-].*\.amazonaws\.com$/.test(url.hostname) ? 'bedrock-converse' : undefined
}

/** Removes `/v1/messages` from an Anthropic address, because the SDK appends it. */
const trimSdkPath = (dialect: DialectName, address: string): string =>
  dialect === 'anthropic' ? address.replace(/\/v1(\/messages)?\/?$/, '') : address

export type DialectChoice = {
  readonly dialect: DialectName
  readonly baseUrl: string
  readonly headers: Readonly<Record<string, string>>
  readonly quirks: Quirks
}

/** Applies all rules of the profile that match this model, address and key. */
export function chooseDialect(
  provider: Provider,
  call: { readonly model: string; readonly address: string; readonly key: string },
  explicit?: DialectName,
): DialectChoice {
  const host = URL.parse(call.address)?.hostname
  const rules = (provider.rules ?? []).filter((rule) => isRuleMatch(rule, { ...call, host }))
  const address = rules.findLast(({ baseUrl }) => baseUrl)?.baseUrl ?? call.address
  const dialect =
    explicit ??
    rules.findLast((rule) => rule.dialect)?.dialect ??
    provider.dialect ??
    detectDialect(address, call.model) ??
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
  call: { readonly model: string; readonly host: string | undefined; readonly key: string },
): boolean => (!model || model.test(call.model)) && (!host || host === call.host) && (!key || key.test(call.key))

/** Returns the keys to which as many rules apply as to the first key. Only these can share one route. */
export function filterInterchangeableKeys({ rules = [] }: Provider, keys: readonly string[]): readonly string[] {
  const kind = (name: string) => rules.filter(({ key }) => key?.test(name)).length
  return keys.filter((key) => kind(key) === kind(keys[0] ?? ''))
}
