/** As much of XML as office documents need: tags and text in their order, entities read. */

export type Tag = {
  readonly is: 'open' | 'close'
  readonly name: string
  readonly attributes: string
  readonly empty: boolean
}
export type Token = Tag | { readonly is: 'text'; readonly text: string }

const TOKEN = /<(\/?)([\w:.-]+)(?![\w:.-])([^<>]*?)(\/?)>|([^<]+)/g
const ENTITIES: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" }

export function* parseXml(xml: string): Generator<Token> {
  for (const [, slash, name, attributes = '', empty, text] of xml.matchAll(TOKEN))
    if (text !== undefined) yield { is: 'text', text: decodeEntities(text) }
    else if (name !== undefined) yield { is: slash ? 'close' : 'open', name, attributes, empty: empty === '/' }
}

export const decodeEntities = (text: string): string =>
  text.replace(/&(?:#x([0-9a-f]{1,6})|#(\d{1,7})|(\w{2,4}));/gi, (whole, hex?: string, decimal?: string, name = '') => {
    const code = hex === undefined ? Number(decimal ?? Number.NaN) : Number.parseInt(hex, 16)
    return code <= 0x10ffff ? String.fromCodePoint(code) : (ENTITIES[name] ?? whole)
  })

export const getAttribute = (attributes: string, name: string): string | undefined => {
  const value = new RegExp(`(?:^|\\s)${name}="([^"]*)"`).exec(attributes)?.[1]
  return value === undefined ? undefined : decodeEntities(value)
}
