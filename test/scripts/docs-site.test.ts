/** Tests how pages of the documentation site are rendered, and that its page of errors has every code. */

import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'

const { renderMarkdown, listHeadings } = (await import(
  new URL('../../scripts/docs-site/markdown.mjs', import.meta.url).href
)) as {
  renderMarkdown: (page: string, text: string, options: { draw: (code: string) => string | undefined }) => string
  listHeadings: (text: string) => readonly { readonly title: string; readonly anchor: string }[]
}
const { buildSearchIndex } = (await import(
  new URL('../../scripts/docs-site/search-index.mjs', import.meta.url).href
)) as {
  buildSearchIndex: (pages: readonly { readonly address: string; readonly text: string }[]) => {
    readonly pages: readonly (readonly [address: string, name: string])[]
  }
}
const render = (text: string) => renderMarkdown('docs/page.md', text, { draw: () => undefined })

it('shows raw HTML as text, and follows no script', () => {
  const html = render('<script>alert(1)</script>\n\nA <b onclick="x">word</b> and [this](javascript:alert(1)).')
  expect(html).not.toMatch(/<script|<b |href/)
  expect(html).toContain('this')
})

it('links pages by their address, and names other files without a link', () => {
  expect(render('[a](cli.md#exit-codes) [b](design/README.md) [c](README.md)')).toMatch(
    /"\/docs\/cli#exit-codes".*"\/docs\/design\/".*"\/docs\/"/,
  )
  expect(render('[code](../src/index.ts)')).not.toContain('href')
})

it('gives headings the anchors of GitHub, and repeated ones a number', () => {
  const headings = listHeadings('# A `b` & c\n\n## Same\n\n```\n# none\n```\n\n## Same')
  expect(headings.map(({ anchor }) => anchor)).toEqual(['a-b--c', 'same', 'same-1'])
})

it('gives pages of one title two names in the search', () => {
  const text = '# Approvals\n\nText.\n\n## Rules\n\nMore.'
  const { pages } = buildSearchIndex([
    { address: '/docs/approvals', text },
    { address: '/docs/design/approvals', text },
    { address: '/docs/design/turn', text: '# Turn\n\nText.' },
  ])
  expect(pages.map(([, name]) => name)).toEqual(['Approvals', 'Approvals (design)', 'Turn'])
})

it('explains every code of an error', async () => {
  const source = await readFile(join(import.meta.dirname, '../../src/worker/errors.ts'), 'utf8')
  const [, union = ''] = /export type ErrorCode =\n((?: +\| '[a-z_]+'\n)+)/.exec(source) ?? []
  const codes = union.match(/[a-z_]+/g) ?? []
  const page = await readFile(join(import.meta.dirname, '../../docs/errors.md'), 'utf8')
  expect(codes.length).toBeGreaterThan(15)
  expect(codes.filter((code) => !page.includes(`| \`${code}\` |`))).toEqual([])
})
