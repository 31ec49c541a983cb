/**
 * Measures how well pages are read: the words of our Markdown against the expected text of saved pages.
 *
 *   git clone https://github.com/mozilla/readability /tmp/readability
 *   node bench/extraction.ts /tmp/readability/test/test-pages
 *
 * Each folder has `source.html` and `expected.html`, or is a pair of `fixtures/NAME.html` and `expected/NAME.md`, as in
 * kepano/defuddle. The pages are no part of this repository.
 */

import { readdirSync, readFileSync, existsSync } from 'node:fs'
import { join } from 'node:path'
import { readPage } from '#backends/web/page/inside/read-page.ts'
import { sum, textOf, wordF1 } from './word-f1.ts'

type Case = { readonly name: string; readonly html: Buffer; readonly expected: string }

const [folder] = process.argv.slice(2)
if (!folder) throw new Error('Name the folder of the pages.')

const cases = existsSync(join(folder, 'fixtures')) ? listPairs(folder) : listFolders(folder)

function listFolders(root: string): readonly Case[] {
  return readdirSync(root).flatMap((name) => {
    const [source, expected] = ['source.html', 'expected.html'].map((file) => join(root, name, file))
    if (!source || !expected || !existsSync(source) || !existsSync(expected)) return []
    return [{ name, html: readFileSync(source), expected: textOf(readFileSync(expected, 'utf8')) }]
  })
}

function listPairs(root: string): readonly Case[] {
  return readdirSync(join(root, 'fixtures')).flatMap((file) => {
    const expected = join(root, 'expected', file.replace(/\.html$/, '.md'))
    if (!file.endsWith('.html') || !existsSync(expected)) return []
    return [
      {
        name: file,
        html: readFileSync(join(root, 'fixtures', file)),
        expected: textOf(readFileSync(expected, 'utf8')),
      },
    ]
  })
}

const results: { readonly name: string; readonly f1: number; readonly ms: number; readonly by: string }[] = []
for (const { name, html, expected } of cases) {
  const started = performance.now()
  const stream = new Response(html).body as ReadableStream<Uint8Array>
  const { markdown, by } = await readPage(stream as never, { url: 'https://site.example/page' })
  const ms = performance.now() - started
  results.push({ name, f1: wordF1(textOf(markdown), expected), ms, by })
}

const mean = (values: readonly number[]) => sum(values) / values.length
const sorted = results.toSorted((a, b) => a.f1 - b.f1)
for (const { name, f1, by } of sorted.slice(0, 10)) console.log(`${f1.toFixed(3)}  ${by.padEnd(7)}  ${name}`)
const median = sorted[Math.floor(sorted.length / 2)]
console.log(
  `${results.length} pages, mean word F1 ${mean(results.map(({ f1 }) => f1)).toFixed(3)}, median ${median?.f1.toFixed(3)}, ` +
    `${mean(results.map(({ ms }) => ms)).toFixed(0)} ms a page, ${results.filter(({ by }) => by === 'page').length} without an article`,
)
