/**
 * Compares the text that we read from office documents with that of LibreOffice and of pandoc: the words that are lost, and
 * those that are invented.
 *
 *   node bench/document-text.ts FOLDER [--all]
 *
 * FOLDER has .docx, .xlsx and .pptx files. `soffice` and `pandoc` must be installed; their texts are kept in FOLDER/.text.
 * The documents are no part of this repository.
 */

import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { parseArgs } from 'node:util'
import { extractOffice } from '#backends/office/inside/extract.ts'

const { values, positionals } = parseArgs({ allowPositionals: true, options: { all: { type: 'boolean' } } })
const [folder] = positionals
if (!folder) throw new Error('usage: node bench/document-text.ts FOLDER [--all]')

const flatFormats = { docx: 'fodt', xlsx: 'fods', pptx: 'fodp' } as const
type Format = keyof typeof flatFormats
const maxShownWords = 12

const texts = join(folder, '.text')
mkdirSync(texts, { recursive: true })
const files = readdirSync(folder).filter((name) => /\.(docx|xlsx|pptx)$/i.test(name))

const formatOf = (name: string): Format => name.slice(name.lastIndexOf('.') + 1).toLowerCase() as Format
const flatPath = (name: string): string =>
  join(texts, `${basename(name, name.slice(name.lastIndexOf('.')))}.${flatFormats[formatOf(name)]}`)
const pandocPath = (name: string): string => join(texts, `${name}.pandoc.txt`)

function run(program: string, options: readonly string[]): void {
  try {
    execFileSync(program, options, { stdio: 'ignore', timeout: 300_000 })
  } catch {
    // A file that the program cannot read has no text to compare with.
  }
}

for (const format of Object.keys(flatFormats) as Format[]) {
  const missing = files.filter((name) => formatOf(name) === format && !existsSync(flatPath(name)))
  const paths = missing.map((name) => join(folder, name))
  if (paths.length) run('soffice', ['--headless', '--convert-to', flatFormats[format], '--outdir', texts, ...paths])
}
for (const name of files)
  if (formatOf(name) === 'docx' && !existsSync(pandocPath(name)))
    run('pandoc', ['-t', 'plain', '--wrap=none', join(folder, name), '-o', pandocPath(name)])

/** The visible text of a flat OpenDocument file. Deleted text and settings are left out. */
function readFlat(path: string): string {
  const xml = readFileSync(path, 'utf8')
  return xml
    .slice(xml.indexOf('<office:body'))
    .replace(/<text:tracked-changes>.*?<\/text:tracked-changes>/gs, ' ')
    .replace(/<office:binary-data>.*?<\/office:binary-data>/gs, ' ')
    .replace(/<(?:dc:date|meta:date-string|office:event-listeners|svg:title)\b[^>]*>[^<]*<\/[^>]+>/g, ' ')
    .replace(/<\/?(?:text:span|text:a|text:bookmark|text:soft-page-break|text:ruby)\b[^>]*>/g, '')
    .replace(/<[^>]*>/g, ' ')
    .replace(/&(lt|gt|amp|quot|apos);/g, (_, name: string) => entities[name] ?? '')
    .replace(/&#(\d+);/g, (_, code: string) => String.fromCodePoint(Number(code)))
}
const entities: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" }

const countWords = (text: string): Map<string, number> => {
  const counts = new Map<string, number>()
  for (const word of text
    .normalize('NFKC')
    .toLowerCase()
    .match(/[\p{L}\p{N}]+/gu) ?? [])
    counts.set(word, (counts.get(word) ?? 0) + 1)
  return counts
}

/** Words that `from` has more often than `other`. */
function listMissing(from: ReadonlyMap<string, number>, other: ReadonlyMap<string, number>): readonly string[] {
  return [...from].flatMap(([word, count]) => Array<string>(Math.max(0, count - (other.get(word) ?? 0))).fill(word))
}

/** Of two counts the smaller or the larger one. */
const combine = (
  [first, ...others]: readonly ReadonlyMap<string, number>[],
  choose: (...counts: number[]) => number,
): ReadonlyMap<string, number> => {
  const combined = new Map(first)
  for (const other of others)
    for (const word of new Set([...combined.keys(), ...other.keys()]))
      combined.set(word, choose(combined.get(word) ?? 0, other.get(word) ?? 0))
  return combined
}

const totals: Record<string, { files: number; words: number; lost: number; invented: number; whole: number }> = {}
for (const name of files) {
  const references = [
    ...(existsSync(flatPath(name)) ? [countWords(readFlat(flatPath(name)))] : []),
    ...(existsSync(pandocPath(name)) ? [countWords(readFileSync(pandocPath(name), 'utf8'))] : []),
  ]
  const answer = await extractOffice(readFileSync(join(folder, name)), formatOf(name), async () => undefined)
  if (!('text' in answer)) console.log(`${name}: ${answer.refused}${references.length ? ', but others read it' : ''}`)
  if (!references.length || !('text' in answer)) continue
  const ours = countWords(answer.text)
  const common = combine(references, Math.min)
  const lost = listMissing(common, ours)
  const invented = listMissing(ours, combine(references, Math.max))
  const total = (totals[formatOf(name)] ??= { files: 0, words: 0, lost: 0, invented: 0, whole: 0 })
  total.files++
  total.words += [...common.values()].reduce((sum, count) => sum + count, 0)
  total.lost += lost.length
  total.invented += invented.length
  total.whole += Number(lost.length === 0)
  if (!lost.length && !(values.all && invented.length)) continue
  console.log(`${name}: lost ${lost.length}: ${lost.slice(0, maxShownWords).join(' ')}`)
  if (invented.length) console.log(`  invented ${invented.length}: ${invented.slice(0, maxShownWords).join(' ')}`)
}
for (const [format, { files: count, words, lost, invented, whole }] of Object.entries(totals))
  console.log(`${format}: ${whole} of ${count} files whole; of ${words} words ${lost} lost, ${invented} invented`)
