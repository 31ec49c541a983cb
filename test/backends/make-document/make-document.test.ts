/** Tests documents that are written in isolates: their text is read back as it was given. */

import { describe, expect, it } from 'vitest'
import type { DocumentKind } from '#agent/core/media/document-writer.ts'
import { openDocumentWriter } from '#backends/make-document/make-document.ts'
import { openDocuments } from '#backends/pdf/pdf.ts'
import { itInTurn } from '#test/support/long.ts'
import { bindings } from '../support/workspace.ts'

const loader = bindings.LOADER!
const signal = new AbortController().signal

async function write(kind: DocumentKind, content: string): Promise<Uint8Array> {
  const made = await openDocumentWriter(loader, 'test')(kind, content, signal)
  if ('refused' in made) throw new Error(made.refused)
  return made.bytes
}

const report = `# Quarterly report

Sales **rose** by 12 %, see [the site](https://example.org/a).

- first point
- second point
  1. nested

| Region | Sales |
|--------|-------|
| North  | 10    |
| South  | =1+1  |

\`\`\`
let x = 1
\`\`\`
`

describe('a document', () => {
  it('in Word has the headings, lists and tables of the Markdown', async () => {
    const read = await openDocuments({ loader, owner: 'test' }).office(await write('docx', report), 'docx', signal)
    const text = 'text' in read ? read.text : read.refused
    for (const part of [
      'Quarterly report',
      'Sales rose by 12 %, see the site',
      'first point',
      'nested',
      'North',
      '=1+1',
      'let x = 1',
    ])
      expect(text).toContain(part)
  })

  it('in Excel has rows, and text that looks like a formula is text', async () => {
    const bytes = await write('xlsx', '[["Name","Sum"],["=HYPERLINK(\\"http://x\\")",3],["+1","@x"]]')
    const read = await openDocuments({ loader, owner: 'test' }).office(bytes, 'xlsx', signal)
    const text = 'text' in read ? read.text : read.refused
    for (const part of ['Name', 'Sum', '=HYPERLINK("http://x")', '3', '+1', '@x']) expect(text).toContain(part)
    expect(await entryOf(bytes, 'xl/worksheets/sheet1.xml')).not.toContain('<f>')
  })

  itInTurn('in PDF has the text on pages', async () => {
    const long = `${report}\n${Array.from({ length: 120 }, (_, n) => `Paragraph ${n} with some words.\n`).join('\n')}`
    const read = await openDocuments({ loader, owner: 'test' }).pdf(await write('pdf', long), signal)
    const text = 'pages' in read ? read.pages.join('\n') : read.refused
    for (const part of ['Quarterly report', 'first point', 'North', '=1+1', 'Paragraph 119 with some words.'])
      expect(text).toContain(part)
    expect('pages' in read && read.total).toBeGreaterThan(2)
  })

  itInTurn('in PDF has spaces where its text has them, also beside other fonts', async () => {
    const text = 'Due 2026\\-11\\-28: **100\\.00**, see `a b`(*un*done) and **two** *words*.'
    const wide = `${'**w**x'.repeat(60)} end`
    const read = await openDocuments({ loader, owner: 'test' }).pdf(
      await write('pdf', `${text}\n\n| ${text} |\n|---|\n\n${wide}`),
      signal,
    )
    const lines = ('pages' in read ? read.pages.join('\n') : read.refused).split('\n')
    const expected = 'Due 2026-11-28: 100.00, see a b(undone) and two words.'
    expect(lines.slice(0, 2)).toEqual([expected, expected])
    const rest = lines.slice(2).join('')
    expect(rest.replaceAll(' ', '')).toBe(`${'wx'.repeat(60)}end`)
    expect(rest).toContain('x end')
  })

  it('in PowerPoint has a slide for each heading', async () => {
    const bytes = await write('pptx', '# One\n\n- a & b\n\n## Two\n\nText.\n\n---\n\n# Three\n\n| A |\n|---|\n| =1 |')
    expect(await Promise.all([1, 2, 3].map((n) => entryOf(bytes, `ppt/slides/slide${n}.xml`)))).toEqual([
      expect.stringMatching(/One.*a &amp; b/s),
      expect.stringMatching(/Two.*Text\./s),
      expect.stringMatching(/Three.*=1/s),
    ])
    expect(await entryOf(bytes, 'ppt/slides/slide4.xml')).toBe('')
  })

  const odd =
    '# One\u001b[0m\n\nA\bB\u0000C\ufffe\ud800 D\u2028E\u3000F.\n\n| Head\u0001 |\n|---|\n| a\u000bb |\n\n```\n\tif\u00a0x\u3000y\n```\n'

  it.each([
    ['docx', 'word/document.xml'],
    ['pptx', 'ppt/slides/slide1.xml'],
    ['xlsx', 'xl/worksheets/sheet1.xml'],
  ] as const)('in %s has no characters that XML refuses', async (kind, entry) => {
    const xml = await entryOf(await write(kind, odd), entry)
    expect(xml).toMatch(/<.*>/s)
    expect(xml).not.toMatch(/[^\P{Cc}\t\n\r]|[\ufffe\uffff]|&#(?:x0?[0-8bcef]|[0-8]|1[124-9]);/iu)
  })

  itInTurn('in PDF is made of a text with control characters, tabs and spaces of all kinds', async () => {
    const read = await openDocuments({ loader, owner: 'test' }).pdf(await write('pdf', odd), signal)
    const text = 'pages' in read ? read.pages.join('\n') : read.refused
    for (const part of ['One[0m', 'ABC', 'Head', 'ab', 'if x y']) expect(text).toContain(part)
  })

  itInTurn('in Excel has names of sheets that differ, and cells that Excel reads', async () => {
    const long = 'x'.repeat(40_000)
    const name = 'n'.repeat(31)
    const sheets = {
      'a/b': [[1]],
      'a b': [[2]],
      'A B': [[3]],
      [name]: [[4]],
      [`${name}x`]: [[5]],
      "'": [['\u001b\b', long]],
    }
    const made = await openDocumentWriter(loader, 'test')('xlsx', JSON.stringify(sheets), signal)
    if ('refused' in made) throw new Error(made.refused)
    const workbook = await entryOf(made.bytes, 'xl/workbook.xml')
    const names = [...workbook.matchAll(/<sheet [^>]*name="([^"]*)"/g)].map(([, found]) => found)
    expect(names).toEqual(['a b', 'a b (2)', 'A B (3)', name, `${'n'.repeat(27)} (2)`, 'Sheet'])
    expect(made.warnings).toEqual(['Cells are cut at 32767 characters, the limit of Excel.'])
    const strings = await entryOf(made.bytes, 'xl/sharedStrings.xml')
    expect(strings).toContain('x'.repeat(32_767))
    expect(strings).not.toContain('x'.repeat(32_768))
  })

  it('as SVG is the diagram', async () => {
    const svg = new TextDecoder().decode(await write('svg', '```mermaid\nflowchart LR\n  A[Start] --> B[End]\n```'))
    expect(svg).toMatch(/^<svg[\s>].*Start.*End.*<\/svg>\s*$/s)
  })

  itInTurn('in PDF has Greek, Cyrillic and Polish letters, and tells which letters no font has', async () => {
    const made = await openDocumentWriter(loader, 'test')(
      'pdf',
      '# Zażółć gęślą\n\nΚαλημέρα, **Привет** and 漢字.',
      signal,
    )
    if ('refused' in made) throw new Error(made.refused)
    const read = await openDocuments({ loader, owner: 'test' }).pdf(made.bytes, signal)
    const text = 'pages' in read ? read.pages.join('\n') : read.refused
    for (const part of ['Zażółć gęślą', 'Καλημέρα', 'Привет', '□□']) expect(text).toContain(part)
    expect(made.warnings).toEqual([expect.stringContaining('漢 字')])
  })

  itInTurn.each([
    ['<svg xmlns="http://www.w3.org/2000/svg" width="40" height="20"><text y="15">Ω</text></svg>', 80, 40],
    ['<svg xmlns="http://www.w3.org/2000/svg" width="30000" height="30000"/>', 4_096, 4_096],
  ])('as PNG has the size of its SVG, within bounds', async (svg, width, height) => {
    const bytes = await write('png', svg)
    expect(imageSize(bytes)).toEqual({ width, height })
  })

  itInTurn('as PNG draws letters of a diagram, and tells which it cannot draw', async () => {
    const draw = (label: string) => openDocumentWriter(loader, 'test')('png', `flowchart LR\n  A[${label}]`, signal)
    const [first, second, third] = [await draw('Привет'), await draw('Тевирп'), await draw('漢')]
    if ('refused' in first || 'refused' in second || 'refused' in third) throw new Error('refused')
    expect([...first.bytes.subarray(0, 4)]).toEqual([0x89, 0x50, 0x4e, 0x47])
    // The same letters in another order: only drawn text makes a difference.
    expect(imageSize(first.bytes)).toEqual(imageSize(second.bytes))
    expect(first.bytes).not.toEqual(second.bytes)
    expect([first.warnings, third.warnings]).toEqual([undefined, [expect.stringContaining('漢')]])
  })

  it.each([
    ['pdf', '漢字漢字', 'these characters: 漢 字'],
    ['png', 'no diagram at all', 'cannot be drawn'],
    ['png', '<svg xmlns="http://www.w3.org/2000/svg" width="10"', 'cannot be drawn'],
    ['png', '<!DOCTYPE svg [<!ENTITY a "aaaa">]><svg>&a;</svg>', 'entities'],
    ['xlsx', '{"a":1}', 'Rows are'],
    ['xlsx', Array(16_386).join(','), 'at most 1048576 rows of 16384 cells'],
    ['svg', 'no diagram at all', 'cannot be drawn'],
  ] as const)('%s that cannot be made is refused with a reason', async (kind, content, reason) => {
    await expect(write(kind, content)).rejects.toThrow(reason)
  })
})

/** Of the header of a PNG file. */
function imageSize(bytes: Uint8Array) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  return { width: view.getUint32(16), height: view.getUint32(20) }
}

/** The text of a file in a ZIP archive; empty when there is none. */
async function entryOf(archive: Uint8Array, name: string): Promise<string> {
  const view = new DataView(archive.buffer, archive.byteOffset, archive.byteLength)
  for (let at = 0; at + 46 < archive.length; at++) {
    if (view.getUint32(at, true) !== 0x0201_4b50) continue
    const nameLength = view.getUint16(at + 28, true)
    if (new TextDecoder().decode(archive.subarray(at + 46, at + 46 + nameLength)) !== name) continue
    const [method, size, local] = [
      view.getUint16(at + 10, true),
      view.getUint32(at + 20, true),
      view.getUint32(at + 42, true),
    ]
    const start = local + 30 + view.getUint16(local + 26, true) + view.getUint16(local + 28, true)
    const body = new Blob([archive.slice(start, start + size) as Uint8Array<ArrayBuffer>]).stream()
    return new Response(method === 0 ? body : body.pipeThrough(new DecompressionStream('deflate-raw'))).text()
  }
  return ''
}
