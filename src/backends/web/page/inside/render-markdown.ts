/** Renders HTML as Markdown, with absolute links and without images that lie in the page itself. */

import { htmlToMarkdown, type MdreamOptions, type TransformPlugin } from '@mdream/js'

/** Elements without any text for people. */
const withoutText = ['head', 'title', 'script', 'style', 'noscript', 'template', 'svg', 'canvas', 'iframe']
/** Elements that are no content of a page. */
const aside = ['nav', 'footer', 'aside', 'form', 'dialog', 'button', 'select', '[hidden]', '[aria-hidden]']

/** The other ways of cleaning take quadratic time on hostile text. */
const clean = { blankLines: true, emptyImages: true }
const emptyLink = /(?<!!)\[\s{0,9}\]\([^()\s]{0,2000}\)/g

/** Renders the HTML of an article, from which everything else is removed. */
export const renderArticle = (html: string, base: string): string => render(html, base)

/** Renders a whole page, without what is no content. Some pages hide all of their content from assistive software. */
export const renderPage = (html: string, base: string): string =>
  render(html, base, { filter: { exclude: [...withoutText, ...aside] } }) ||
  render(html, base, { filter: { exclude: withoutText } })

const render = (html: string, base: string, plugins?: MdreamOptions['plugins']): string =>
  htmlToMarkdown(html, { clean, hooks: [rowsWithoutTables, absoluteAddresses(base)], ...(plugins && { plugins }) })
    .replace(emptyLink, '')
    .trim()

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
