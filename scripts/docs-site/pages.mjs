/** Lists the pages of the documentation site with their addresses, and its navigation, which is that of docs/README.md. */

import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { root } from '../lib/root.mjs'

/** Files outside of docs that are pages, too. */
const others = { 'CHANGELOG.md': '/docs/changelog', 'examples/README.md': '/docs/examples' }
const startPage = 'docs/README.md'

/** The address of a Markdown file of the repository, or undefined when it is no page. */
export function addressOf(file) {
  if (Object.hasOwn(others, file)) return others[file]
  if (!file.startsWith('docs/') || !file.endsWith('.md')) return undefined
  return `/${file.replace(/(?:\/README)?\.md$/, '')}${file.endsWith('/README.md') ? '/' : ''}`
}

/** All files that are pages. */
export const listPages = () => [
  ...readdirSync(join(root, 'docs'), { recursive: true })
    .map((name) => `docs/${name.replaceAll('\\', '/')}`)
    .filter((name) => name.endsWith('.md'))
    .toSorted(),
  ...Object.keys(others),
]

/** The file that a relative link of `page` names, with the part behind `#`; undefined for other addresses. */
export function resolveLink(page, target) {
  if (/^(?:[a-z]+:|\/)/.test(target)) return undefined
  const [path, anchor] = target.split('#')
  return { file: path ? normalize(join(dirname(page), decodeURIComponent(path))) : page, anchor }
}

/** The sections of a start page: each with its title and the pages that it links. */
export function readSections(file) {
  const sections = []
  for (const line of readFileSync(join(root, file), 'utf8').split('\n')) {
    const title = /^(?:## (.+)|\*\*(.+)\*\*)$/.exec(line)
    if (title) sections.push({ title: title[1] ?? title[2], pages: [] })
    const pages = sections.at(-1)?.pages
    for (const [, target] of pages ? line.matchAll(/\]\(([^)\s]+)\)/g) : []) {
      const linked = resolveLink(file, target)?.file
      if (linked && addressOf(linked) && !pages.includes(linked)) pages.push(linked)
    }
  }
  return sections.filter(({ pages }) => pages.length > 0)
}

/** The sections that the navigation shows beside a page. */
export function readNavigation() {
  const guides = readSections(startPage)
  const taken = new Set(guides.flatMap(({ pages }) => pages))
  const design = readSections('docs/design/README.md').map(({ title, pages }) => ({
    title,
    pages: pages.filter((page) => !taken.has(page)),
  }))
  const decisions = { title: 'Decisions', pages: listPages().filter((page) => page.startsWith('docs/adr/')) }
  return { guides, design: [...design, decisions] }
}
