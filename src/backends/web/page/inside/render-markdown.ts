/** Renders HTML as Markdown, with absolute links and without images that lie in the page itself. */

import { htmlToMarkdown, type MdreamOptions, type TextNode, type TransformPlugin } from '@mdream/js'

/** Elements without any text for people. */
const withoutText = ['head', 'title', 'script', 'style', 'noscript', 'template', 'svg', 'canvas', 'iframe']
/** Elements that are no content of a page. */
const aside = ['nav', 'footer', 'aside', 'form', 'dialog', 'button', 'select', '[hidden]', '[aria-hidden]']

/** The other ways of cleaning take quadratic time on hostile text. */
const clean = { blankLines: true, emptyImages: true }
const emptyLink = /(?<!!)\[\s{0,9}\]\([^()\s]{0,2000}\)/g

/** Beyond these, a hostile page would take minutes: each line is written again for every quote around it. */
const maxQuotedLines = 400_000
/** The sum of the depths of all texts and elements. */
const maxNesting = 20_000_000

/** Renders the HTML of an article, from which everything else is removed. Returns undefined when it is nested too much. */
export const renderArticle = (html: string, base: string): string | undefined => render(html, base)

/**
 * Renders a whole page, without what is no content. Some pages hide all of their content from assistive software.
 * Returns undefined when it is nested too much.
 */
export function renderPage(html: string, base: string): string | undefined {
  const markdown = render(html, base, { filter: { exclude: [...withoutText, ...aside] } })
  return markdown === '' ? render(html, base, { filter: { exclude: withoutText } }) : markdown
}

function render(html: string, base: string, plugins?: MdreamOptions['plugins']): string | undefined {
  const hooks = [boundNesting(), rowsWithoutTables, absoluteAddresses(base)]
  try {
    return htmlToMarkdown(html, { clean, hooks, ...(plugins && { plugins }) })
      .replace(emptyLink, '')
      .trim()
  } catch (error) {
    if (error instanceof NestedTooMuch) return undefined
    throw error
  }
}

class NestedTooMuch extends Error {
  override readonly name = 'NestedTooMuch'
}

/** Counts in the converter itself, because other parsers see other elements in broken HTML. */
function boundNesting(): TransformPlugin {
  let [quotedLines, nesting] = [0, 0]
  return {
    beforeNodeProcess({ node }, { depth = 0, bufferedBlockquoteDepth: quotes = 0 }) {
      nesting += depth
      if (quotes > 0) quotedLines += quotes * countLines((node as Partial<TextNode>).value)
      if (quotedLines > maxQuotedLines || nesting > maxNesting) throw new NestedTooMuch()
      return undefined
    },
  }
}

/** Elements have no value. */
const countLines = (value = ''): number => value.split('\n').length

/** The converter fails on a row or cell outside of a table. */
const rowsWithoutTables: TransformPlugin = {
  beforeNodeProcess(_event, state) {
    state.tableColumnAlignments ??= []
    state.tableCurrentRowCells ??= 0
    return undefined
  },
}

const absoluteAddresses = (base: string): TransformPlugin => ({
  processAttributes({ attributes }) {
    for (const name of ['href', 'src'])
      if (attributes[name] !== undefined) attributes[name] = absolute(attributes[name], base)
  },
})

/** Long `data:` addresses hold files. Those of scripts lead nowhere. */
function absolute(address: string, base: string): string {
  const found = URL.parse(address, base)
  if (!found) return ''
  if (found.protocol === 'data:') return 'data:omitted'
  return /^(?:https?|mailto|tel|ftp):$/.test(found.protocol) ? found.href : ''
}
