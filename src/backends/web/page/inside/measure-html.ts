/**
 * Measures HTML without parsing it, in one pass. Finding the article of a page takes time that grows faster than its
 * elements and their depth, so that hostile pages would take minutes.
 */

export type HtmlSize = {
  readonly elements: number
  readonly depth: number
  /** The most attributes of one element, estimated for long tags only. */
  readonly attributes: number
  /** Signs that begin a tag and do not. Parsers make a text of each. */
  readonly strays: number
}

/** They have no content, or their end is often left out and implied by the next element. */
const withoutDepth = new Set(
  (
    'area base br col embed hr img input link meta source track wbr param ' +
    'p li dt dd tr td th thead tbody tfoot option optgroup colgroup rt rp'
  ).split(' '),
)
/** Their content is text. */
const rawText = new Set(['script', 'style', 'textarea', 'title', 'noscript', 'template'])

const tagName = /[a-z][a-z0-9-]{0,40}/iy

export function measureHtml(html: string, maxElements: number): HtmlSize {
  let [elements, depth, deepest, attributes, strays] = [0, 0, 0, 0, 0]
  for (let at = html.indexOf('<'); at >= 0 && elements <= maxElements; at = html.indexOf('<', at + 1)) {
    const isEnd = html[at + 1] === '/'
    tagName.lastIndex = at + (isEnd ? 2 : 1)
    const name = tagName.exec(html)?.[0].toLowerCase()
    if (name === undefined) {
      if (html.startsWith('!--', at + 1)) at = endOf(html, '-->', at)
      else strays++
      continue
    }
    if (!isEnd) {
      elements++
      attributes = Math.max(attributes, countAttributes(html, at))
    }
    if (withoutDepth.has(name)) continue
    depth = Math.max(0, depth + (isEnd ? -1 : 1))
    deepest = Math.max(deepest, depth)
    if (!isEnd && rawText.has(name)) at = endOf(html, `</${name}`, at) - 1
  }
  return { elements, depth: deepest, attributes, strays }
}

const longTag = 5_000

function countAttributes(html: string, at: number): number {
  const end = endOf(html, '>', at)
  return end - at < longTag ? 0 : html.slice(at, end).split('=').length - 1
}

/** The beginning of the text, or the end of the page. */
function endOf(html: string, text: string, from: number): number {
  const found = html.indexOf(text, from)
  return found < 0 ? html.length : found
}
