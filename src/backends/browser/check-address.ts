/** Refuses addresses that are no web pages, before the network guard judges the others. */

/** Returns the reason; undefined when the address may be judged further. */
export function checkBrowserAddress(address: string): string | undefined {
  const url = URL.parse(address)
  if (!url) return 'it is not a valid address'
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return `addresses with ${url.protocol} are not opened`
  return undefined
}
