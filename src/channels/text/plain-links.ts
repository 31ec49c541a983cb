/** Writes the addresses of links behind their labels, for platforms without links, or with short ones only. */

import type { TextSpan } from '#agent/core/delivery.ts'
import type { StyledText } from './parse-inline.ts'

/** A dialect writes the address into each message that has a part of the label. Longer ones would fill it. */
export const maxLinkedUrlChars = 500

/** Links with an address of at most `maxLinkedChars` stay links. */
export function writeLinkAddresses({ text, spans }: Readonly<StyledText>, maxLinkedChars = -1): StyledText {
  const isWritten = ({ type, url = '' }: TextSpan) => type === 'link' && url.length > maxLinkedChars
  const links = spans.filter(isWritten).toSorted((one, other) => endOf(one) - endOf(other))
  let out = ''
  let at = 0
  const inserted: { readonly after: number; readonly length: number }[] = []
  for (const link of links) {
    const end = endOf(link)
    const { url = '' } = link
    // The label already is the address, or another link ends here.
    if (end < at || !url || text.slice(link.offset, end) === url.replace(/^(mailto|tel):/, '')) continue
    if (text.slice(link.offset, end) === url) continue
    const address = ` (${url.replace(/^(mailto|tel):/, '')})`
    out += text.slice(at, end) + address
    inserted.push({ after: end, length: address.length })
    at = end
  }
  return {
    text: out + text.slice(at),
    spans: spans.filter((span) => !isWritten(span)).map((span) => shift(span, inserted)),
  }
}

const endOf = ({ offset, length }: TextSpan): number => offset + length

/** An address at the end of a style stays outside of it. */
function shift(span: TextSpan, inserted: readonly { readonly after: number; readonly length: number }[]): TextSpan {
  let [offset, end] = [span.offset, endOf(span)]
  for (const { after, length } of inserted) {
    if (after <= span.offset) offset += length
    if (after < endOf(span)) end += length
  }
  return { ...span, offset, length: end - offset }
}
