/** Checks the addresses of links that a model has written. */

export type CheckedLink = {
  readonly href: string
  readonly host: string
  /** The text names another host, or the address could carry data away: a click shows it first. */
  readonly isSuspicious: boolean
}

const maxQueryChars = 100
const hostPattern = /\b((?:[a-z0-9-]{1,63}\.){1,10}[a-z]{2,24})\b/i

/** Undefined for every scheme but http, https and mailto. */
export function checkLink(href: string, text: string): CheckedLink | undefined {
  if (!URL.canParse(href)) return undefined
  const url = new URL(href)
  if (url.protocol === 'mailto:') return { href: url.href, host: url.pathname, isSuspicious: false }
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return undefined
  const named = hostPattern.exec(text)?.[1]?.toLowerCase()
  const isOther = named !== undefined && !isSameSite(named, url.hostname)
  const isSuspicious = isOther || url.search.length + url.hash.length > maxQueryChars || url.username !== ''
  return { href: url.href, host: url.host, isSuspicious }
}

const isSameSite = (named: string, host: string): boolean =>
  host === named || host === `www.${named}` || `www.${host}` === named

/** Characters that change the order of the text around them, so that it reads as something else. */
const bidi = /[\u202A-\u202E\u2066-\u2069\u200E\u200F\u061C]/g

export const showBidi = (text: string): string =>
  text.replace(
    bidi,
    (character) => `\u27E8U+${character.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}\u27E9`,
  )
