import { describe, expect, it } from 'vitest'
import type { Documents } from '#agent/core/media/document.ts'
import { extractOffice } from '#backends/office/inside/extract.ts'
import { parseXml, decodeEntities } from '#backends/office/inside/xml-tokens.ts'
import readFile from '#tools/file/read-file.tool.ts'
import { zip } from '#test/backends/support/zip.ts'
import { call } from '../../support/call.ts'
import { memoryBackend } from '../../support/memory-backend.ts'
import { ownerAuthority } from '#test/support/authority.ts'

const documents: Documents = {
  office: (bytes, format) => extractOffice(bytes, format, () => Promise.resolve()),
  pdf: () => Promise.reject(new Error('no test reads a PDF file')),
}

const read = (path: string, content: string | Uint8Array, more: object = {}) =>
  call(readFile, { path, ...more }, { backend: memoryBackend({ [path]: content }), documents })

const shown = async (path: string, content: string | Uint8Array) =>
  (await read(path, content)).result['content']?.replaceAll(/^\d+\|/gm, '')

describe('a Word document', () => {
  const paragraph = (text: string, style = '') =>
    `<w:p>${style && `<w:pPr><w:pStyle w:val="${style}"/></w:pPr>`}<w:r><w:t xml:space="preserve">${text}</w:t></w:r></w:p>`
  const cell = (text: string) => `<w:tc>${paragraph(text)}</w:tc>`
  const document = `<?xml version="1.0"?><w:document><w:body>${paragraph('Plan', 'Heading1')}${paragraph('A &amp; B &#8211; x')}
    <w:p><w:pPr><w:numPr/></w:pPr><w:r><w:t>item</w:t><w:tab/><w:t>two</w:t></w:r></w:p>
    <w:tbl><w:tr>${cell('a')}${cell('b')}</w:tr></w:tbl></w:body></w:document>`

  it.each(['word/document.xml', 'word/document.xml!'])('is read as lines: %s', async (name) => {
    expect(await shown('a.docx', await zip({ '[Content_Types].xml': '<x/>', [name]: document }))).toBe(
      '# Plan\nA & B – x\n- item\ttwo\n| a | b |',
    )
  })

  it('names its format and is paged', async () => {
    const { result } = await read('a.docx', await zip({ 'word/document.xml': document }), { limit: 1 })
    expect(result).toMatchObject({ content: '1|# Plan', rendered_from: 'docx', total_lines: 4, next_offset: 2 })
  })
})

describe('a workbook', () => {
  const files = {
    'xl/workbook.xml': '<workbook><sheets><sheet name="One &lt;1&gt;" sheetId="1" r:id="rId7"/></sheets></workbook>',
    'xl/_rels/workbook.xml.rels':
      '<Relationships><Relationship Id="rId7" Target="worksheets/sheet1.xml"/></Relationships>',
    'xl/sharedStrings.xml': '<sst><si><t>name</t></si><si><r><t>Ada</t></r><r><t> L.</t></r></si></sst>',
    'xl/worksheets/sheet1.xml': `<worksheet><sheetData>
      <row r="1"><c r="A1" t="s"><v>0</v></c><c r="C1" t="inlineStr"><is><t>age</t></is></c></row>
      <row r="2"><c r="A2" t="s"><v>1</v></c><c r="B2" t="b"><v>1</v></c><c r="C2"><f>1+1</f><v>36</v></c></row>
    </sheetData></worksheet>`,
  }

  it('is read sheet by sheet and keeps empty cells', async () => {
    expect(await shown('a.xlsx', await zip(files))).toBe('## Sheet: One <1>\nname\t\tage\nAda L.\tTRUE\t36')
  })

  it('is truncated after 5000 rows and 256 columns', async () => {
    const wide = Array.from({ length: 300 }, () => 'x')
    const letters = (i: number) =>
      (i < 26 ? '' : String.fromCharCode(64 + Math.floor(i / 26))) + String.fromCharCode(65 + (i % 26))
    const row = `<row>${wide.map((_, i) => `<c r="${letters(i)}1"><v>1</v></c>`).join('')}</row>`
    const sheet = `<worksheet>${row}${'<row><c r="A2"><v>2</v></c></row>'.repeat(6000)}</worksheet>`
    const archive = await zip({ ...files, 'xl/worksheets/sheet1.xml': sheet })
    const first = await read('a.xlsx', archive, { offset: 2, limit: 1 })
    expect(first.result['content'].split('\t')).toHaveLength(256)
    expect(first.result['total_lines']).toBe(5002)
  })
})

describe('a notebook', () => {
  const cells = [
    { cell_type: 'markdown', source: ['# Title\n', 'text'] },
    {
      cell_type: 'code',
      source: 'print(1)',
      outputs: [
        { output_type: 'stream', text: ['1\n'] },
        { output_type: 'display_data', data: { 'image/png': 'AAAA', 'text/plain': '<Figure>' } },
        { output_type: 'error', ename: 'ValueError', evalue: 'bad' },
      ],
    },
  ]

  it('is read cell by cell with its output', async () => {
    expect(await shown('a.ipynb', JSON.stringify({ cells, nbformat: 4 }))).toBe(
      `--- cell 1: markdown ---\n# Title\ntext\n\n--- cell 2: code ---\nprint(1)\n--- output of cell 2 ---\n1\n\n[image/png, not shown]\n<Figure>\nValueError: bad`,
    )
  })

  it.each(['{"cells": 3}', 'no json'])('with invalid content is read as text: %s', async (content) => {
    expect(await shown('a.ipynb', content)).toBe(content)
  })
})

const foreign = await zip({ 'some/thing': 'x' })
const whole = await zip({ 'word/document.xml': 'x'.repeat(1000) })

describe('an unreadable file', () => {
  it.each([
    ['a damaged document', 'a.docx', 'not a zip', /not a valid .docx/],
    ['another archive', 'a.xlsx', foreign, /not a valid .xlsx/],
    ['a truncated archive', 'a.docx', whole.slice(40), /not a valid .docx/],
    ['an old document', 'a.doc', 'x', /\.docx or text/],
  ])('(%s) is refused with advice', async (_, path, content, reason) => {
    const { failed, result } = await read(path, content)
    expect([failed, result['is_binary']]).toEqual([true, true])
    expect(result['error']).toMatch(reason)
  })
})

describe('XML', () => {
  it('is parsed into tags and text', () => {
    expect([...parseXml('<a x="1">t&lt;<b/></a>')]).toEqual([
      { kind: 'open', name: 'a', attributes: ' x="1"', empty: false },
      { kind: 'text', text: 't<' },
      { kind: 'open', name: 'b', attributes: '', empty: true },
      { kind: 'close', name: 'a', attributes: '', empty: false },
    ])
    expect(decodeEntities('&#x41;&#66;&quot;&unknown;&#9999999;')).toBe('AB"&unknown;&#9999999;')
  })

  it.each(['a', 'a ', 'a/', '<a', '<'])('is parsed to the end when "%s" is repeated without a closing tag', (piece) => {
    expect([...parseXml(`<${piece.repeat(1_000_000)}`)].every(({ kind: is }) => is === 'text')).toBe(true)
  })
})

describe('repeated reads', () => {
  const once = async (change?: string) => {
    const backend = memoryBackend({ f: 'one\ntwo\n', g: 'other' })
    await call(readFile, { path: 'f' }, { backend })
    if (change !== undefined) await backend.files.write('f', new TextEncoder().encode(change))
    return backend
  }
  const again = async (input: object, callId: string, change?: string) => {
    const backend = await once(change)
    return readFile.run(
      input,
      {
        sessionId: 's',
        authority: ownerAuthority(),
        callId,
        signal: new AbortController().signal,
        clock: { now: () => 0 },
      },
      { backend },
    )
  }
  const textOf = (result: Awaited<ReturnType<typeof again>>) => JSON.stringify(result)

  it('omit an unchanged page', async () => {
    const answer = textOf(await again({ path: './f' }, 'call-2'))
    expect(answer).toContain('unchanged')
    expect(answer).not.toContain('1|one')
  })

  it.each([
    ['another page', { input: { path: 'f', offset: 2 }, callId: 'call-2' }, '2|two'],
    ['another file', { input: { path: 'g' }, callId: 'call-2' }, '1|other'],
    ['a changed file', { input: { path: 'f' }, callId: 'call-2', change: 'new\n' }, '1|new'],
    ['the same call, repeated after a crash', { input: { path: 'f' }, callId: 'call-1' }, '1|one'],
  ])('show %s', async (_, { input, callId, ...rest }, content) => {
    const change = 'change' in rest ? rest.change : undefined
    expect(textOf(await again(input, callId, change))).toContain(content)
  })

  it('show an omitted page on the third read', async () => {
    const backend = await once()
    const context = {
      sessionId: 's',
      authority: ownerAuthority(),
      signal: new AbortController().signal,
      clock: { now: () => 0 },
    }
    const isShown: boolean[] = []
    for (const callId of ['b', 'c', 'd'])
      isShown.push(
        JSON.stringify(await readFile.run({ path: 'f' }, { ...context, callId }, { backend })).includes('1|one'),
      )
    expect(isShown).toEqual([false, true, false])
  })
})
