/**
 * Handles headers of custom providers, which are secrets: they are stored sealed, answers show their last four
 * characters, and a patch that repeats such an answer keeps the stored value.
 */

/** A stored header is `sealed:<last four characters, encoded>:<sealed value>`. */
const prefix = 'sealed:'
/** The end of a short value would reveal too much of it. */
const minShownChars = 8

/** A scheme before the secret, such as `Bearer`, does not make it longer. */
function endOf(value: string): string {
  const secret = value.slice(value.trimEnd().lastIndexOf(' ') + 1)
  return secret.length < minShownChars ? '' : secret.slice(-4)
}

export const isSealedHeader = (value: string): boolean => value.startsWith(prefix)

export const renderSealedHeader = (value: string, sealed: string): string =>
  `${prefix}${encodeURIComponent(endOf(value))}:${sealed}`

/** Returns the sealed part of a stored header. */
export const parseSealedHeader = (stored: string): string => stored.slice(stored.indexOf(':', prefix.length) + 1)

export const isMaskedHeader = (value: string): boolean => /^\*{4}.{0,4}$/.test(value)

/** Returns what answers show of a header, stored or plain. */
export function maskHeader(value: string): string {
  if (!isSealedHeader(value)) return `****${endOf(value)}`
  return `****${decodeURIComponent(value.slice(prefix.length, value.indexOf(':', prefix.length)))}`
}

type StoredProvider = { readonly base_url: string; readonly headers?: Readonly<Record<string, string>> | undefined }
/** The part of the settings that has headers. */
type WithProviders = { readonly providers?: Readonly<Record<string, StoredProvider>> | undefined }
type Headers = Readonly<Record<string, string | null>>
type ProviderPatch = { readonly base_url?: string | null; readonly headers?: Headers | null } | null

/** Returns the settings as answers show them. */
export function maskHeaders<Settings extends WithProviders>(settings: Settings): Settings {
  const { providers } = settings
  if (!Object.values(providers ?? {}).some((provider) => provider?.headers)) return settings
  const masked = Object.entries(providers ?? {}).map(([name, provider]) => {
    const headers = Object.entries(provider.headers ?? {}).map(([header, value]) => [header, maskHeader(value)])
    return [name, provider.headers ? { ...provider, headers: Object.fromEntries(headers) } : provider]
  })
  return { ...settings, providers: Object.fromEntries(masked) as Settings['providers'] }
}

export type HeaderPatch =
  | { readonly kind: 'patch'; readonly patch: object }
  | { readonly kind: 'wrong'; readonly at: string; readonly message: string }

/** Replaces masked values in a patch by nothing, so that the stored ones stay. Both have to be of the same origin. */
export function keepMaskedHeaders(before: WithProviders, patch: object): HeaderPatch {
  const { providers } = patch as { readonly providers?: Readonly<Record<string, ProviderPatch>> | null }
  if (!providers) return { kind: 'patch', patch }
  const changed: Record<string, ProviderPatch> = {}
  for (const [name, provider] of Object.entries(providers)) {
    const fault = findFault(name, provider, before.providers?.[name])
    if (fault) return fault
    const given = Object.entries(provider?.headers ?? {})
    const headers = Object.fromEntries(given.filter(([, value]) => value === null || !isMaskedHeader(value)))
    changed[name] = provider?.headers ? { ...provider, headers } : provider
  }
  return { kind: 'patch', patch: { ...patch, providers: changed } }
}

function findFault(name: string, provider: ProviderPatch, stored: StoredProvider | undefined): HeaderPatch | undefined {
  const given = Object.entries(provider?.headers ?? {})
  const unknown = given.find(([header, value]) => value !== null && isLost(value, stored?.headers?.[header]))
  if (unknown) return lost(name, unknown[0], 'Enter the whole value: only its end is shown.')
  const kept = findKeptHeader(provider, stored)
  if (kept === undefined || originOf(provider?.base_url) === originOf(stored?.base_url)) return undefined
  return lost(name, kept, 'Enter it again: it belongs to the earlier address.')
}

const lost = (provider: string, header: string, message: string): HeaderPatch => ({
  kind: 'wrong',
  at: `providers.${provider}.headers.${header}`,
  message,
})

const isLost = (value: string, stored: string | undefined): boolean =>
  isMaskedHeader(value) && (stored === undefined || maskHeader(stored) !== value)

/** A stored header that stays although the patch names an address. */
function findKeptHeader(provider: ProviderPatch, stored: StoredProvider | undefined): string | undefined {
  if (!provider?.base_url || !stored || provider.headers === null) return undefined
  return Object.keys(stored.headers ?? {}).find((header) => {
    const value = provider.headers?.[header]
    return value === undefined || (value !== null && isMaskedHeader(value))
  })
}

export const originOf = (address: string | null | undefined): string => URL.parse(address ?? '')?.origin ?? ''
