/** Adds the addresses of links to the plain text of a message that also came as HTML: its words alone do not have them. */
export function addLinkAddresses(
  plain: string,
  html: string,
  isLeftOut: (address: string) => boolean = () => false,
): string {
  let text = plain
  for (const [, url = '', inner = ''] of html.matchAll(anchors)) {
    const [address, label] = [unescapeHtml(url), unescapeHtml(inner)]
    if (text.includes(address) || isLeftOut(address) || !text.includes(label)) continue
    text = text.replace(label, () => `${label} (${address})`)
  }
  return text
}

const anchors = /<a\s[^>]{0,500}?href="([^"]{1,2000})"[^>]{0,500}>([^<]{1,500})<\/a>/g

export const unescapeHtml = (text: string): string =>
  text
    .replaceAll('&nbsp;', ' ')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&')
