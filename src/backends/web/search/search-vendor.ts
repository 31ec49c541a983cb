/** Defines a vendor of web searches: how it is asked, and how its answer is read. Both are pure. */

export type WebHit = { readonly title: string; readonly url: string; readonly description: string }

export type SearchVendorRequest = {
  readonly url: string
  readonly headers?: Readonly<Record<string, string>>
  /** Sent as JSON with POST. Absent: the request is a GET. */
  readonly body?: object
}

export type WebQuery = {
  readonly query: string
  readonly count: number
  /** Random for each session, and nothing else: some vendors limit their free use by it. */
  readonly sessionId: string
}

/** The error that an answer holds. `isLimited`: another vendor may answer the same query. */
export type VendorError = { readonly error: string; readonly isLimited?: true }

export type SearchVendor = {
  readonly id: string
  /** `key` is empty for keyless use. `baseUrl` has no slash at its end. */
  readonly request: (access: { readonly baseUrl: string; readonly key: string }, query: WebQuery) => SearchVendorRequest
  /** Returns undefined for an answer in an unknown form. */
  readonly parse: (body: unknown) => readonly WebHit[] | VendorError | undefined
  /** Suggests what to change, for a failure that has a usual cause. */
  readonly explain?: (detail: string) => string | undefined
}

/** A way to search without a key. `baseUrl` holds until a variable of the deployment replaces it. */
export type KeylessVendor = SearchVendor & {
  readonly baseUrl: string
  /** The answer is that of an MCP server. */
  readonly isMcp?: true
}

type VendorJson = Readonly<Record<string, unknown>>

export const asObject = (value: unknown): VendorJson =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as VendorJson) : {}

export const asText = (value: unknown): string => (typeof value === 'string' ? value : '')

/** Reads the entries of a list. Those without an address are left out. */
export function readHits(
  list: unknown,
  read: (entry: VendorJson) => Readonly<Record<keyof WebHit, unknown>>,
): readonly WebHit[] | undefined {
  if (!Array.isArray(list)) return undefined
  return list.flatMap((entry) => {
    const { title, url, description } = read(asObject(entry))
    return asText(url) ? { title: asText(title), url: asText(url), description: asText(description) } : []
  })
}

/** Joins a list of excerpts. */
export const joinTexts = (value: unknown): string =>
  Array.isArray(value) ? value.filter((each) => typeof each === 'string').join(' … ') : asText(value)

export const bearer = (key: string): Readonly<Record<string, string>> => ({ authorization: `Bearer ${key}` })
