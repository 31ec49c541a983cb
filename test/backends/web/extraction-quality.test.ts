/** Tests how much of the content of pages of many kinds is read, and how little of what sites put around it. */

import { describe, expect, it } from 'vitest'
import { textOf, wordF1 } from '../../../bench/word-f1.ts'
import { readPage } from '#backends/web/page/inside/read-page.ts'
import { type SavedPage, savedPages } from './support/saved-pages.ts'

async function measure({ html, content }: SavedPage): Promise<number> {
  const body = new Response(html).body as ReadableStream<Uint8Array>
  const { markdown } = await readPage(body, { url: 'https://site.example/page', charset: 'utf-8' })
  return wordF1(textOf(markdown), textOf(content))
}

describe('the content of a page', () => {
  it.each(savedPages.map((page) => [page.name, page] as const))('of the kind: %s is read', async (_name, page) => {
    expect(await measure(page)).toBeGreaterThanOrEqual(0.9)
  })

  it('is read nearly in full on average', async () => {
    const found = await Promise.all(savedPages.map(measure))
    expect(found.reduce((sum, one) => sum + one, 0) / found.length).toBeGreaterThanOrEqual(0.95)
  })
})
