/** Tests reading PDF files, with and without an isolate, and its limits. */

import { describe, expect, it } from 'vitest'
import type { PdfAnswer } from '#agent/core/media/document.ts'
import { openDocuments } from '#backends/pdf/pdf.ts'
import { countLoader } from '../../support/billed-requests.ts'
import { lines, packed, pdfWith } from '../support/pdf.ts'
import { bindings } from '../support/workspace.ts'
import { firstRows, itInTurn } from '#test/support/long.ts'

// Loads the reader in advance, so that its time does not count for the first test.
await import('#backends/pdf/inside/in-process.ts')

const signal = new AbortController().signal
const whole = (...pages: readonly string[]): PdfAnswer => ({ pages, total: pages.length, unread: [] })
const bytesOf = (text: string) => new TextEncoder().encode(text)

/** Every form draws the next one twenty times. */
async function forms(): Promise<Uint8Array> {
  const font = '/Font<</F 3 0 R>>'
  const form = (next: string) => `/Type/XObject/Subtype/Form/BBox[0 0 9 9]/Resources<<${font}${next}>>`
  const more = Array.from(
    { length: 12 },
    (_, i) => [form(`/XObject<</X ${7 + i} 0 R>>`), bytesOf('/X Do '.repeat(20))] as const,
  )
  const last = [form(''), bytesOf(lines('boom'))] as const
  return pdfWith(['/X Do'], { resources: '/XObject<</X 6 0 R>>', more: [...more, last] })
}

/** A hundred thousand characters on one line, on ten thousand lines. */
async function characters(): Promise<Uint8Array> {
  const ranges = `100 beginbfrange\n${'<0000> <FFFF> <0041>\n'.repeat(100)}endbfrange\n`.repeat(100)
  const map = await packed(`1 begincodespacerange <0000> <FFFF> endcodespacerange\n${ranges}`)
  const system = '/CIDSystemInfo<</Registry(Adobe)/Ordering(Identity)/Supplement 0>>'
  return pdfWith(['BT /G 12 Tf (AA) Tj ET'], {
    resources: '/Font<</G 6 0 R>>',
    more: [
      '<</Type/Font/Subtype/Type0/BaseFont/X/Encoding/Identity-H/ToUnicode 8 0 R/DescendantFonts[7 0 R]>>',
      `<</Type/Font/Subtype/CIDFontType2/BaseFont/X${system}>>`,
      map,
    ],
  })
}

const ways = [
  ['an isolate', { loader: bindings.LOADER, owner: 'test' }],
  ['the object itself', { owner: 'test' }],
] as const

describe.each(firstRows(1, ways))('in %s', (_, options) => {
  const { pdf } = openDocuments(options)

  it('the text of each page is read, line by line', async () => {
    const file = await pdfWith([lines('Annual report', 'of \\(all\\) things'), lines('Page two')])
    expect(await pdf(file, signal)).toEqual(whole('Annual report\nof (all) things', 'Page two'))
  })

  it('pages without text are empty', async () => {
    expect(await pdf(await pdfWith(['0 0 10 10 re f', lines('x')]), signal)).toEqual(whole('', 'x'))
  })

  it('a missing page is listed, and the others are read', async () => {
    const file = await pdfWith([lines('one'), lines('two')], { kids: '4 0 R 6 0 R 99 0 R', count: 3 })
    expect(await pdf(file, signal)).toEqual({ pages: ['one', 'two', ''], total: 3, unread: [3] })
  })

  it('a file with a damaged object table is read', async () => {
    const file = await pdfWith([lines('saved')])
    expect(await pdf(file.slice(0, -'000\n%%EOF'.length), signal)).toEqual(whole('saved'))
  })

  it.each<[string, () => Promise<Uint8Array>, PdfAnswer]>([
    ['what is none', async () => bytesOf('%PDF-1.7 and nothing else'), { refused: 'damaged' }],
    ['an empty file', async () => new Uint8Array(), { refused: 'damaged' }],
    [
      'one that wants a password',
      () =>
        pdfWith([lines('secret')], {
          trailer: `/ID[<00><00>]/Encrypt<</Filter/Standard/V 1/R 2/P -4/O<${'41'.repeat(32)}>/U<${'42'.repeat(32)}>>>`,
        }),
      { refused: 'encrypted' },
    ],
    ['one that claims a million pages', () => pdfWith([lines('one')], { count: 1_000_000 }), whole('one')],
    ['forms that draw each other without end', forms, { refused: 'stopped' }],
    ['characters without end', characters, { refused: 'stopped' }],
    [
      'objects in objects without end',
      async () => bytesOf(`%PDF-1.4\n${'1 0 obj\n<<'.repeat(400_000)}`),
      { refused: 'stopped' },
    ],
    ['a page that unpacks to much more than it is', () => pdfWith([' '.repeat(40e6)]), { refused: 'stopped' }],
  ])('%s has an answer, and the next file is read', async (_name, file, answer) => {
    expect(await pdf(await file(), signal)).toEqual(answer)
    expect(await pdf(await pdfWith([lines('next')]), signal)).toEqual(whole('next'))
  })

  itInTurn('pages that were read before the step limit are kept', async () => {
    const file = await pdfWith([lines('first'), ' '.repeat(40e6), lines('last')])
    expect(await pdf(file, signal)).toEqual({ pages: ['first'], total: 3, unread: [], stopped: 'work' })
  })

  it('concurrent files are read one after the other', async () => {
    const files = await Promise.all(['a', 'b', 'c'].map((text) => pdfWith([lines(text)])))
    const answers = await Promise.all(files.map((file) => pdf(file, signal)))
    expect(answers).toEqual([whole('a'), whole('b'), whole('c')])
  })

  it('time is limited', async () => {
    const hurried = openDocuments({ ...options, timeoutMs: 300 })
    expect(await hurried.pdf(await pdfWith(['q Q '.repeat(8e6)]), signal)).toEqual({ refused: 'stopped' })
  })

  it('a stop ends reading at once', async () => {
    expect(await pdf(await pdfWith([lines('a')]), AbortSignal.abort())).toEqual({ refused: 'stopped' })
  })
})

describe('without an isolate', () => {
  it('a large file is rejected before it is read', async () => {
    const answer = await openDocuments({ owner: 'test' }).pdf(new Uint8Array(9 * 1024 * 1024), signal)
    expect(answer).toMatchObject({ refused: 'size' })
  })
})

it('the documents of a session share one isolate of each kind', async () => {
  const ids = new Set<string>()
  const { pdf, office } = openDocuments({ loader: countLoader(bindings.LOADER!, ids), owner: 'a session' })
  for (let n = 0; n < 3; n++) expect(await pdf(await pdfWith([lines(`Page ${n}`)]), signal)).toEqual(whole(`Page ${n}`))
  for (let n = 0; n < 2; n++) await office(new Uint8Array([1, 2, 3]), 'docx', signal)
  expect([...ids].map((id) => id.replace(/:[\da-f]{16}/, ''))).toEqual(['pdf:a session', 'office:a session'])
})
