/** Parses XML into tags and text, as far as office documents need it: in order, with decoded entities. */

export type Tag = {
  readonly kind: 'open' | 'close'
  readonly name: string
  readonly attributes: string
  readonly empty: boolean
}
export type Token = Tag | { readonly kind: 'text'; readonly text: string }

const tokenPattern = /<(\/?)([\w:.-]+)(?![\w:.-])([^<>]*?)(\/?)>|([^<]+)/g
const entities: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" }

export function* parseXml(xml: string): Generator<Token> {
  for (const [, slash, name, attributes = '', empty, text] of xml.matchAll(tokenPattern))
    if (text !== undefined) yield { kind: 'text', text: decodeEntities(text) }
    else if (name !== undefined) yield { kind: slash ? 'close' : 'open', name, attributes, empty: empty === '/' }
}

export const decodeEntities = (text: string): string =>
  text.replace(/&(?:#x([0-9a-f]{1,6})|#(\d{1,7})|(\w{2,4}));/gi, (whole, hex?: string, decimal?: string, name = '') => {
    const code = hex === undefined ? Number(decimal ?? Number.NaN) : Number.parseInt(hex, 16)
    return code <= 0x10ffff ? String.fromCodePoint(code) : (entities[name] ?? whole)
  })

/** Returns the value of `name="…"`, the first one after a space or at the beginning. */
export function getAttribute(attributes: string, name: string): string | undefined {
  const begin = `${name}="`
  for (let at = attributes.indexOf(begin); at >= 0; at = attributes.indexOf(begin, at + begin.length)) {
    if (at > 0 && !/\s/.test(attributes[at - 1] ?? '')) continue
    const end = attributes.indexOf('"', at + begin.length)
    return end < 0 ? undefined : decodeEntities(attributes.slice(at + begin.length, end))
  }
  return undefined
}
