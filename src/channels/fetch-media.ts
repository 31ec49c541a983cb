/** Downloads a file from an address that a platform named. */

import type { ChannelConnection, FetchedMedia } from './channel.ts'

type MediaAddress = {
  readonly url: string
  readonly headers?: Readonly<Record<string, string>>
  readonly mime?: string | undefined
  readonly name?: string | undefined
}

/** Never rejects. */
export async function fetchMediaFrom(
  connection: ChannelConnection,
  { url, headers, mime, name }: MediaAddress,
  maxBytes: number,
): Promise<FetchedMedia> {
  let response: Response
  let bytes: Uint8Array<ArrayBuffer>
  try {
    response = await connection.fetchForeign({ url, maxBytes, ...(headers && { headers }) })
    bytes = new Uint8Array(await response.arrayBuffer())
  } catch (error) {
    const isTooLarge = error instanceof Error && error.name === 'ResponseTooLarge'
    // The message of an error may contain the address.
    const detail = isTooLarge ? `more than ${maxBytes} bytes` : 'the file could not be downloaded'
    return { kind: 'failed', detail, canRetry: !isTooLarge }
  }
  const { status } = response
  if (!response.ok)
    return { kind: 'failed', detail: `HTTP ${status} for the file`, canRetry: status === 429 || status >= 500 }
  const type = mime ?? response.headers.get('content-type')?.split(';')[0]?.trim()
  return { kind: 'fetched', bytes, ...(type && { mime: type }), ...(name !== undefined && { name }) }
}

const originOf = (url: string): string | undefined => (URL.canParse(url) ? new URL(url).origin : undefined)

export const isSameOrigin = (one: string, other: string): boolean =>
  originOf(one) !== undefined && originOf(one) === originOf(other)

/** Whether an address belongs to a domain of the platform, so that it may see the connection's token. */
export function isOnDomain(url: string, domains: readonly string[]): boolean {
  if (!URL.canParse(url)) return false
  const { protocol, hostname } = new URL(url)
  return protocol === 'https:' && domains.some((domain) => hostname === domain || hostname.endsWith(`.${domain}`))
}
