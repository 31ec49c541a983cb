import { describe, expect, it } from 'vitest'
import { itInTurn } from '#test/support/long.ts'
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
    expect(first.result['total_lines']).toBe(5003)
    const last = await read('a.xlsx', archive, { offset: 5002 })
    expect(last.result['content']).toBe(
      '5002|[44 cells right of column 256 are not shown]\n5003|[more rows than 5000 are not shown]',
    )
  })
})

const relationship = (type: string, id: string, target: string, more = '') =>
  `<Relationship Id="${id}" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/${type}" Target="${target}" ${more}/>`
const relationships = (...list: readonly string[]) => `<Relationships>${list.join('')}</Relationships>`
const external = 'TargetMode="External"'

describe('the cells of a workbook', () => {
  const workbook = async (sheet: string, more: Readonly<Record<string, string>> = {}) =>
    zip({
      'xl/workbook.xml': '<workbook><sheets><sheet name="S" sheetId="1" r:id="r1"/></sheets></workbook>',
      'xl/_rels/workbook.xml.rels': relationships(relationship('worksheet', 'r1', 'worksheets/s.xml')),
      'xl/worksheets/s.xml': sheet,
      ...more,
    })
  const rowsOf = async (sheet: string, more?: Readonly<Record<string, string>>) =>
    (await shown('a.xlsx', await workbook(sheet, more))).split('\n').slice(1)

  it('need no references, and have no reading aids', async () => {
    const strings =
      '<sst><si><t>Berth</t></si><si><t>Depth</t></si><si><r><t>North </t></r><r><t>quay</t></r></si><si><t>港</t><rPh sb="0" eb="1"><t>ミナト</t></rPh></si></sst>'
    const sheet = `<worksheet><sheetData>
      <row><c t="s"><v>0</v></c><c t="s"><v>1</v></c></row>
      <row><c t="s"><v>2</v></c><c/><c><v>11.5</v></c></row>
      <row><c r="B3" t="s"><v>3</v></c><c><v>9</v></c></row>
      <row><c t="inlineStr"><is><t>東</t><rPh><t>ヒガシ</t></rPh></is></c></row>
    </sheetData></worksheet>`
    expect(await rowsOf(sheet, { 'xl/sharedStrings.xml': strings })).toEqual([
      'Berth\tDepth',
      'North quay\t\t11.5',
      '\t港\t9',
      '東',
    ])
  })

  const styles = `<styleSheet><numFmts count="7">
    <numFmt numFmtId="164" formatCode="yyyy\\-mm\\-dd"/><numFmt numFmtId="165" formatCode="[$-409]d\\-mmm\\-yy;@"/>
    <numFmt numFmtId="166" formatCode="#,##0.00 &quot;days&quot;"/><numFmt numFmtId="167" formatCode="[h]:mm"/>
    <numFmt numFmtId="168" formatCode="[Red]0.0%"/><numFmt numFmtId="169" formatCode="dd.mm.yyyy hh:mm"/>
    <numFmt numFmtId="170" formatCode="mmm&quot;/&quot;"/></numFmts>
    <cellStyleXfs><xf numFmtId="14"/></cellStyleXfs>
    <cellXfs>${[0, 14, 164, 165, 166, 9, 46, 167, 168, 169, 170, 20, 22].map((id) => `<xf numFmtId="${id}"/>`).join('')}</cellXfs></styleSheet>`
  const date = async (style: number, value: string, more: Readonly<Record<string, string>> = {}) =>
    (
      await rowsOf(`<worksheet><row><c s="${style}"><v>${value}</v></c></row></worksheet>`, {
        'xl/styles.xml': styles,
        ...more,
      })
    )[0]

  it.each([
    [1, '45000', '2023-03-15'],
    [2, '45000.5', '2023-03-15 12:00'],
    [3, '45000', '2023-03-15'],
    [9, '45000', '2023-03-15 00:00'],
    [12, '45000.25', '2023-03-15 06:00'],
    [10, '45000', '2023-03-15'],
    [1, '1', '1900-01-01'],
    [1, '59', '1900-02-28'],
    [1, '61', '1900-03-01'],
    [11, '0.5', '12:00'],
    [11, '0.50001', '12:00:01'],
    [6, '1.5', '36:00:00'],
    [7, '0.0625', '1:30:00'],
    [5, '0.125', '12.5 %'],
    [8, '0.1', '10 %'],
    // Ordinary numbers stay.
    [4, '12.5', '12.5'],
    [0, '45000', '45000'],
    [0, '-7', '-7'],
    // Programs store two digits more than were entered.
    [0, '1.0000000000000002', '1'],
    [0, '13.130000000000001', '13.13'],
    [0, '0.039999999999999', '0.039999999999999'],
    [0, '8.0213903743315495E-2', '0.0802139037433155'],
    [0, '1e400', '1e400'],
    [0, '12345678901234567', '12345678901234567'],
    [1, '-5', '-5'],
    [1, '99999999', '99999999'],
    [99, '45000', '45000'],
  ])('have the value of their format: style %d, %s', async (style, value, expected) => {
    expect(await date(style, value)).toBe(expected)
  })

  it('count from 1904 where the workbook says so', async () => {
    const from1904 = '<workbook><workbookPr date1904="1"/><sheets><sheet name="S" r:id="r1"/></sheets></workbook>'
    expect(await date(1, '45000', { 'xl/workbook.xml': from1904 })).toBe('2027-03-16')
  })

  it('show a formula only without a stored value', async () => {
    const sheet =
      '<worksheet><row><c><f>A1+B1</f></c><c><f>SUM(A1:B1)</f><v></v></c><c><f>1+1</f><v>2</v></c><c t="str"><f>"x"&amp;"y"</f><v>xy</v></c><c t="d"><v>2024-05-06T00:00:00</v></c></row></worksheet>'
    expect(await rowsOf(sheet)).toEqual(['=A1+B1\t=SUM(A1:B1)\t2\txy\t2024-05-06'])
  })

  it('are found with other prefixes, names and quotes', async () => {
    const archive = await zip({
      '_rels/.rels': relationships(relationship('officeDocument', 'r1', '/book/Main.xml')),
      'book/main.xml': `<x:workbook><x:sheets><x:sheet name='S' sheetId='1' rel:id='r9'/></x:sheets></x:workbook>`,
      'book/_rels/main.xml.rels': relationships(
        relationship('worksheet', 'r9', '../pages/one.xml'),
        relationship('sharedStrings', 'r2', 'texts.xml'),
      ),
      'book/texts.xml': '<x:sst><x:si><x:t><![CDATA[a < b]]></x:t></x:si><!-- <x:si/> --></x:sst>',
      'pages/one.xml': '<x:worksheet><x:row><x:c t="s"><x:v>0</x:v></x:c><x:c><x:v>5</x:v></x:c></x:row></x:worksheet>',
    })
    expect(await shown('a.xlsx', archive)).toBe('## Sheet: S\na < b\t5')
  })
})

describe('the text of a Word document', () => {
  const p = (content: string) => `<w:p>${content}</w:p>`
  const t = (text: string) => `<w:r><w:t>${text}</w:t></w:r>`
  const textOf = async (body: string, more: Readonly<Record<string, string>> = {}) =>
    shown('a.docx', await zip({ 'word/document.xml': `<w:document><w:body>${body}</w:body></w:document>`, ...more }))

  it('is in the part that the package names', async () => {
    const archive = await zip({
      '_rels/.rels': relationships(relationship('officeDocument', 'r1', '/word/document2.xml')),
      'word/document2.xml': `<n0:document><n0:p><n0:r><n0:t>MAIN</n0:t></n0:r></n0:p></n0:document>`,
    })
    expect(await shown('a.docx', archive)).toBe('MAIN')
  })

  it('keeps a table within a cell, and the cells around it', async () => {
    const cell = (content: string) => `<w:tc>${content}</w:tc>`
    const inner = `<w:tbl><w:tr>${cell(p(t('I1')))}${cell(p(t('I2')))}</w:tr><w:tr>${cell(p(t('I3')))}</w:tr></w:tbl>`
    const outer = `<w:tbl><w:tr>${cell(p(t('O1')))}${cell(p(t('O2')) + inner + p(t('behind')))}</w:tr></w:tbl>`
    expect(await textOf(p(t('before')) + outer + p(t('end')))).toBe('before\n| O1 | O2 I1, I2; I3 behind |\nend')
  })

  it('has a text box once, after its paragraph', async () => {
    const box = (tag: string) => `<${tag}><w:txbxContent>${p(t('boxed'))}</w:txbxContent></${tag}>`
    const drawing = `<w:r><mc:AlternateContent>${box('mc:Choice')}${box('mc:Fallback')}</mc:AlternateContent></w:r>`
    expect(await textOf(p(t('one ') + drawing + t('two')))).toBe('one two\nboxed')
  })

  it('has addresses, footnotes and comments', async () => {
    const field = (type: string) => `<w:r><w:fldChar w:fldCharType="${type}"/></w:r>`
    const body =
      p(`<w:hyperlink r:id="r5">${t('here')}</w:hyperlink><w:r><w:footnoteReference w:id="2"/></w:r>`) +
      p(
        `${field('begin')}<w:r><w:instrText> HYPERLINK "https://b.example/" </w:instrText></w:r>${field('separate')}${t('there')}${field('end')}<w:r><w:commentReference w:id="0"/></w:r>`,
      ) +
      p(
        `<w:hyperlink r:id="r5">${t('https://a.example/x')}</w:hyperlink><w:hyperlink w:anchor="top">${t(' up')}</w:hyperlink>`,
      ) +
      p(`${field('begin')}<w:r><w:instrText> PAGE </w:instrText></w:r>${field('separate')}${t('7')}${field('end')}`)
    const text = await textOf(body, {
      'word/_rels/document.xml.rels': relationships(
        relationship('hyperlink', 'r5', 'https://a.example/x', external),
        relationship('footnotes', 'r6', 'footnotes.xml'),
        relationship('comments', 'r7', 'comments.xml'),
      ),
      'word/footnotes.xml': `<w:footnotes><w:footnote w:type="separator" w:id="-1">${p('')}</w:footnote><w:footnote w:id="2">${p(t('a note'))}</w:footnote></w:footnotes>`,
      'word/comments.xml': `<w:comments><w:comment w:id="0" w:author="Ada">${p(t('Really?'))}</w:comment></w:comments>`,
    })
    expect(text).toBe(
      'here (https://a.example/x)[^2]\nthere (https://b.example/)[^c0]\nhttps://a.example/x up\n7\n\n[^2]: a note\n[^c0]: Ada: Really?',
    )
  })

  it('has formulas, and no tab stops, deleted or moved text', async () => {
    const formula =
      '<m:oMath><m:f><m:num><m:r><m:t>a</m:t></m:r></m:num><m:den><m:r><m:t>b</m:t></m:r></m:den></m:f><m:sSup><m:e><m:r><m:t>x</m:t></m:r></m:e><m:sup><m:r><m:t>2</m:t></m:r></m:sup></m:sSup></m:oMath>'
    const changed = `<w:del><w:r><w:delText>gone</w:delText></w:r></w:del><w:moveFrom>${t('old place')}</w:moveFrom><w:ins>${t('new')}</w:ins>`
    const stops = '<w:pPr><w:tabs><w:tab w:val="left" w:pos="720"/></w:tabs></w:pPr>'
    expect(await textOf(p(formula) + p(stops + t('x') + changed))).toBe('(a)/(b)x^(2)\nxnew')
  })

  it('has headings by the names of their styles, in any language', async () => {
    const styled = (id: string) => `<w:pPr><w:pStyle w:val="${id}"/></w:pPr>`
    const text = await textOf(p(styled('Nagwek2') + t('Plan')) + p(styled('Zwykly') + t('text')), {
      'word/_rels/document.xml.rels': relationships(relationship('styles', 'r1', 'styles.xml')),
      'word/styles.xml':
        '<w:styles><w:style w:styleId="Nagwek2"><w:name w:val="heading 2"/></w:style><w:style w:styleId="Zwykly"><w:name w:val="Normal"/></w:style></w:styles>',
    })
    expect(text).toBe('## Plan\ntext')
  })
})

describe('a presentation', () => {
  const paragraph = (text: string) => `<a:p><a:r><a:t>${text}</a:t></a:r></a:p>`
  const shape = (text: string, type = '') =>
    `<p:sp><p:nvSpPr>${type && `<p:nvPr><p:ph type="${type}"/></p:nvPr>`}</p:nvSpPr><p:txBody>${paragraph(text)}</p:txBody></p:sp>`
  const slide = (content: string) => `<p:sld><p:cSld>${content}</p:cSld></p:sld>`

  it('is read slide by slide in its own order, with tables, links and notes', async () => {
    const number = '<p:sp><a:p><a:fld type="slidenum"><a:t>1</a:t></a:fld></a:p></p:sp>'
    const table = `<a:tbl><a:tr><a:tc>${paragraph('a')}</a:tc><a:tc>${paragraph('b')}</a:tc></a:tr></a:tbl>`
    const link = '<p:sp><a:p><a:r><a:rPr><a:hlinkClick r:id="r8"/></a:rPr><a:t>site</a:t></a:r></a:p></p:sp>'
    const archive = await zip({
      'ppt/presentation.xml':
        '<p:presentation><p:sldIdLst><p:sldId id="257" r:id="r2"/><p:sldId id="256" r:id="r1"/></p:sldIdLst></p:presentation>',
      'ppt/_rels/presentation.xml.rels': relationships(
        relationship('slide', 'r1', 'slides/slide1.xml'),
        relationship('slide', 'r2', 'slides/slide2.xml'),
      ),
      'ppt/slides/slide1.xml': slide(shape('Second')),
      'ppt/slides/slide2.xml': slide(shape('First', 'ctrTitle') + shape('text', 'body') + table + link + number),
      'ppt/slides/_rels/slide2.xml.rels': relationships(
        relationship('notesSlide', 'r1', '../notesSlides/notesSlide1.xml'),
        relationship('hyperlink', 'r8', 'https://a.example/', external),
      ),
      'ppt/notesSlides/notesSlide1.xml': slide(shape('say hello', 'body')),
    })
    expect(await shown('a.pptx', archive)).toBe(
      '## Slide 1\n### First\ntext\n| a | b |\nsite (https://a.example/)\nNotes: say hello\n\n## Slide 2\nSecond',
    )
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

  itInTurn.each(['a', 'a ', 'a/', '<a', '<'])(
    'is parsed to the end when "%s" is repeated without a closing tag',
    (piece) => {
      expect([...parseXml(`<${piece.repeat(1_000_000)}`)].every(({ kind: is }) => is === 'text')).toBe(true)
    },
  )
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
        callKey: callId,
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
        JSON.stringify(
          await readFile.run({ path: 'f' }, { ...context, callId, callKey: callId }, { backend }),
        ).includes('1|one'),
      )
    expect(isShown).toEqual([false, true, false])
  })
})

describe('the comments of a workbook', () => {
  const sheetRelations = (...list: readonly string[]) => ({ 'xl/worksheets/_rels/s.xml.rels': relationships(...list) })
  const note = (cell: string, text: string) =>
    `<comment ref="${cell}" authorId="0"><text><r><t>${text}</t></r></text></comment>`
  const notes = (...list: readonly string[]) =>
    `<comments><authors><author>Ada</author></authors><commentList>${list.join('')}</commentList></comments>`
  const open = (more: Readonly<Record<string, string>>) =>
    zip({
      'xl/workbook.xml': '<workbook><sheets><sheet name="S" sheetId="1" r:id="r1"/></sheets></workbook>',
      'xl/_rels/workbook.xml.rels': relationships(
        relationship('worksheet', 'r1', 'worksheets/s.xml'),
        relationship('person', 'r2', 'persons/person.xml'),
      ),
      'xl/persons/person.xml': '<personList><person displayName="Ben" id="{1}"/></personList>',
      'xl/worksheets/s.xml': '<worksheet><row><c><v>1</v></c></row></worksheet>',
      ...more,
    })

  it('follow its rows, with their cells and authors', async () => {
    const archive = await open({
      ...sheetRelations(relationship('comments', 'c', '../comments1.xml')),
      'xl/comments1.xml': notes(note('B2', 'late &amp; wrong'), note('C3', 'Ada:\nsee B2'), note('D4', '')),
    })
    expect(await shown('a.xlsx', archive)).toBe(
      '## Sheet: S\n1\n[comment at B2] Ada: late & wrong\n[comment at C3] Ada: see B2',
    )
  })

  it('that are threads appear once, and not as their copies for old programs', async () => {
    const archive = await open({
      ...sheetRelations(
        relationship('comments', 'c', '../comments1.xml'),
        relationship('threadedComment', 't', '../threadedComments/t.xml'),
      ),
      'xl/comments1.xml': notes(note('A1', '[Threaded comment] why?'), note('B2', 'a note')),
      'xl/threadedComments/t.xml':
        '<ThreadedComments><threadedComment ref="A1" personId="{1}"><text>why?</text></threadedComment><threadedComment ref="A1" personId="{2}"><text>because</text></threadedComment></ThreadedComments>',
    })
    expect(await shown('a.xlsx', archive)).toBe(
      '## Sheet: S\n1\n[comment at B2] Ada: a note\n[comment at A1] Ben: why?\n[comment at A1] because',
    )
  })
})

describe('pictures and diagrams', () => {
  const data =
    '<dgm:dataModel><dgm:ptLst><dgm:pt><dgm:t><a:p><a:r><a:t>plan</a:t></a:r></a:p></dgm:t></dgm:pt><dgm:pt><dgm:t><a:p><a:r><a:t>do </a:t></a:r><a:r><a:t>it</a:t></a:r></a:p><a:p/></dgm:t></dgm:pt></dgm:ptLst></dgm:dataModel>'
  const diagram = '<dgm:relIds r:dm="d1" r:lo="d2"/>'

  it('of a presentation are read at their places', async () => {
    const text = (words: string) => `<p:sp><p:txBody><a:p><a:r><a:t>${words}</a:t></a:r></a:p></p:txBody></p:sp>`
    const archive = await zip({
      'ppt/presentation.xml': '<p:presentation><p:sldIdLst><p:sldId id="256" r:id="r1"/></p:sldIdLst></p:presentation>',
      'ppt/_rels/presentation.xml.rels': relationships(relationship('slide', 'r1', 'slides/slide1.xml')),
      'ppt/slides/_rels/slide1.xml.rels': relationships(relationship('diagramData', 'd1', '../diagrams/data1.xml')),
      'ppt/diagrams/data1.xml': data,
      'ppt/slides/slide1.xml': `<p:sld>${text('before')}<p:pic><p:nvPicPr><p:cNvPr id="4" name="Picture 3" descr="A red&#10;crane"/></p:nvPicPr></p:pic><p:pic><p:nvPicPr><p:cNvPr id="5" name="x" descr="C:\\pictures\\crane 2.jpg"/></p:nvPicPr></p:pic>${diagram}${text('behind')}</p:sld>`,
    })
    expect(await shown('a.pptx', archive)).toBe('## Slide 1\nbefore\n[picture: A red crane]\nplan\ndo it\nbehind')
  })

  it('of a Word document are read at their places', async () => {
    const run = (content: string) => `<w:p><w:r>${content}</w:r></w:p>`
    const archive = await zip({
      'word/document.xml': `<w:document><w:body>${run('<w:t>see </w:t><w:drawing><wp:docPr id="1" name="Picture 1" descr="A red crane"/></w:drawing>')}${run('<w:drawing><wp:docPr id="2" name="Picture 2" descr="crane.png"/></w:drawing><w:t>none</w:t>')}${run(diagram)}${run('<w:t>behind</w:t>')}</w:body></w:document>`,
      'word/_rels/document.xml.rels': relationships(relationship('diagramData', 'd1', 'diagrams/data1.xml')),
      'word/diagrams/data1.xml': data,
    })
    expect(await shown('a.docx', archive)).toBe('see [picture: A red crane]\nnone\n\nplan\ndo it\nbehind')
  })
})

describe('the large first letter of a paragraph', () => {
  const drop = '<w:p><w:pPr><w:framePr w:dropCap="drop" w:lines="3"/></w:pPr><w:r><w:t>O</w:t></w:r></w:p>'
  const bodyOf = async (body: string) =>
    shown('a.docx', await zip({ 'word/document.xml': `<w:document><w:body>${body}</w:body></w:document>` }))

  it('is a part of its word', async () => {
    expect(await bodyOf(`${drop}<w:p><w:r><w:t>nce upon</w:t></w:r></w:p>`)).toBe('Once upon')
  })

  it('stays when nothing follows it, and other frames are paragraphs', async () => {
    expect(await bodyOf(drop)).toBe('O')
    const frame = '<w:p><w:pPr><w:framePr w:w="200"/></w:pPr><w:r><w:t>aside</w:t></w:r></w:p>'
    expect(await bodyOf(`${frame}<w:p><w:r><w:t>text</w:t></w:r></w:p>`)).toBe('aside\ntext')
  })
})
