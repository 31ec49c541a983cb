/**
 * Parses XML into tags and text, as far as office documents need it: in order, with decoded entities. Names are without
 * their namespace, because programs choose its prefix.
 */

export type Tag = {
  readonly kind: 'open' | 'close'
  readonly name: string
  readonly attributes: string
  readonly empty: boolean
}
export type XmlToken = Tag | { readonly kind: 'text'; readonly text: string }

/** A value between quotes may have `>` in it. */
const tokenPattern = /<(\/?)([\w:.-]+)(?![\w:.-])((?:[^<>"'/]|"[^"<]*"|'[^'<]*'|\/(?!>))*)(\/?)>|([^<]+)/g
const entities: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" }

export function* parseXml(xml: string): Generator<XmlToken> {
  for (const [, slash, name, attributes = '', empty, text] of withoutComments(xml).matchAll(tokenPattern))
    if (text !== undefined) yield { kind: 'text', text: decodeEntities(text) }
    else if (name !== undefined)
      yield { kind: slash ? 'close' : 'open', name: localName(name), attributes, empty: empty === '/' }
}

const localName = (name: string): string => name.slice(name.indexOf(':') + 1)

/** Removes comments, and escapes sections of plain text. */
function withoutComments(xml: string): string {
  if (!xml.includes('<!')) return xml
  const pieces: string[] = []
  let at = 0
  for (let next = xml.indexOf('<!'); next >= 0; next = xml.indexOf('<!', at)) {
    pieces.push(xml.slice(at, next))
    const isText = xml.startsWith('<![CDATA[', next)
    const closing = isText ? ']]>' : xml.startsWith('<!--', next) ? '-->' : '>'
    const end = xml.indexOf(closing, next)
    if (end < 0) return pieces.join('')
    if (isText)
      pieces.push(
        xml
          .slice(next + 9, end)
          .replaceAll('&', '&amp;')
          .replaceAll('<', '&lt;'),
      )
    at = end + closing.length
  }
  return pieces.join('') + xml.slice(at)
}

export const listTags = (xml: string, name: string): Tag[] =>
  [...parseXml(xml)].flatMap((token) => (token.kind === 'open' && token.name === name ? [token] : []))

export const decodeEntities = (text: string): string =>
  text.replace(/&(?:#x([0-9a-f]{1,6})|#(\d{1,7})|(\w{2,4}));/gi, (whole, hex?: string, decimal?: string, name = '') => {
    const code = hex === undefined ? Number(decimal ?? Number.NaN) : Number.parseInt(hex, 16)
    return code <= 0x10ffff ? String.fromCodePoint(code) : (entities[name] ?? whole)
  })

/** Returns the value of an attribute, whatever its namespace: the first one after a space or at the beginning. */
export function getAttribute(attributes: string, name: string): string | undefined {
  for (let at = attributes.indexOf(name); at >= 0; at = attributes.indexOf(name, at + name.length)) {
    const quoteAt = attributes.indexOf('=', at) + 1
    const isName = /(?:^|\s)(?:[\w.-]+:)?$/.test(attributes.slice(Math.max(0, at - 40), at))
    if (!isName || quoteAt === 0 || attributes.slice(at + name.length, quoteAt - 1).trim() !== '') continue
    const value = /^\s*(?:"([^"]*)"|'([^']*)')/.exec(attributes.slice(quoteAt))
    if (value) return decodeEntities(value[1] ?? value[2] ?? '')
  }
  return undefined
}
