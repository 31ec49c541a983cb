/** Tests office documents that are valid and seldom: other encodings, formulas, forms, hidden text, old copies. */

import { describe, expect, it } from 'vitest'
import type { OfficeFormat } from '#agent/core/media/document.ts'
import { extractOffice } from '#backends/office/inside/extract.ts'
import { zip } from '#test/backends/support/zip.ts'

type Files = Readonly<Record<string, string | Uint8Array>>

async function textOf(format: OfficeFormat, files: Files): Promise<string> {
  const answer = await extractOffice(await zip(files), format, () => Promise.resolve())
  return 'text' in answer ? answer.text : answer.refused
}

const relation = (type: string, id: string, target: string, more = '') =>
  `<Relationship Id="${id}" Type="http://schemas.example/relationships/${type}" Target="${target}" ${more}/>`
const relations = (...all: readonly string[]) => `<Relationships>${all.join('')}</Relationships>`

const document = (body: string) => `<w:document><w:body>${body}</w:body></w:document>`
const run = (content: string, properties = '') => `<w:r>${properties && `<w:rPr>${properties}</w:rPr>`}${content}</w:r>`
const t = (text: string) => `<w:t>${text}</w:t>`
const p = (...content: readonly string[]) => `<w:p>${content.join('')}</w:p>`

function utf16(text: string, isBig: boolean): Uint8Array {
  const bytes = new Uint8Array(2 * text.length + 2)
  const view = new DataView(bytes.buffer)
  for (const [at, unit] of ['\uFEFF', ...text.split('')].entries()) view.setUint16(2 * at, unit.charCodeAt(0), !isBig)
  return bytes
}

const m = (text: string) => `<m:r><m:t>${text}</m:t></m:r>`
const e = (...content: readonly string[]) => `<m:e>${content.join('')}</m:e>`
const formulas: readonly (readonly [name: string, formula: string, text: string])[] = [
  ['brackets', `${m('2')}<m:d>${e(m('a+b'))}</m:d>`, '2(a+b)'],
  [
    'brackets of their own',
    `<m:d><m:dPr><m:begChr m:val="["/><m:endChr m:val="["/></m:dPr>${e(m('0,1'))}</m:d>`,
    '[0,1[',
  ],
  ['a brace on one side', `<m:d><m:dPr><m:begChr m:val="{"/><m:endChr m:val=""/></m:dPr>${e(m('x'))}</m:d>`, '{x'],
  [
    'a matrix in brackets',
    `<m:d>${e(`<m:m><m:mr>${e(m('a'))}${e(m('b'))}</m:mr><m:mr>${e(m('c'))}${e(m('d'))}</m:mr></m:m>`)}</m:d>`,
    '(a, b; c, d)',
  ],
  ['equations', `<m:eqArr>${e(m('x=1'))}${e(m('y=2'))}</m:eqArr>`, 'x=1; y=2'],
  ['a cube root', `<m:rad><m:deg>${m('3')}</m:deg>${e(m('x'))}</m:rad>`, '√[3](x)'],
  ['a square root', `<m:rad><m:deg><m:ctrlPr/></m:deg>${e(m('x'))}</m:rad>`, '√(x)'],
  [
    'roots in roots',
    `<m:rad><m:deg/>${e(m('x+'), `<m:rad><m:deg/>${e(m('y'))}</m:rad>`, m('+z'))}</m:rad>`,
    '√(x+√(y)+z)',
  ],
  ['an integral without limits', `<m:nary><m:naryPr/><m:sub/><m:sup/>${e(m('f'))}</m:nary>`, '∫f'],
  [
    'a sum',
    `<m:nary><m:naryPr><m:chr m:val="∑"/></m:naryPr><m:sub>${m('i=1')}</m:sub><m:sup>${m('n')}</m:sup>${e(m('i'))}</m:nary>`,
    '∑_(i=1)^(n)i',
  ],
  ['functions', `<m:func><m:fName>${m('sin')}</m:fName>${e(m('x'))}</m:func>`, 'sin x'],
  [
    'limits',
    `<m:func><m:fName><m:limLow>${e(m('lim'))}<m:lim>${m('n→∞')}</m:lim></m:limLow></m:fName>${e(m('a'))}</m:func>`,
    'lim_(n→∞) a',
  ],
  [
    'accents',
    `<m:acc><m:accPr><m:chr m:val="\u0303"/></m:accPr>${e(m('x'))}</m:acc><m:acc>${e(m('y'))}</m:acc>`,
    'x\u0303y\u0302',
  ],
]

describe('a Word document', () => {
  it.each(formulas)('has the formula: %s', async (_name, formula, text) => {
    expect(await textOf('docx', { 'word/document.xml': document(p(`<m:oMath>${formula}</m:oMath>`)) })).toBe(text)
  })

  const symbol = (font: string, char: string) => run(`<w:sym w:font="${font}" w:char="${char}"/>`)
  const form = (content: string) =>
    run(`<w:fldChar w:fldCharType="begin"><w:ffData>${content}</w:ffData></w:fldChar>`) +
    run('<w:fldChar w:fldCharType="end"/>')

  it.each([
    [
      'reading aids',
      p(run(`<w:ruby><w:rt>${run(t('かんじ'))}</w:rt><w:rubyBase>${run(t('漢字'))}</w:rubyBase></w:ruby>`)),
      '漢字',
    ],
    ['text that is not hidden', p(run(t('seen')), run(t(' hidden'), '<w:vanish/>'), run(t(' more'))), 'seen more'],
    ['text whose style is hidden', p(run(t('seen'), '<w:vanish w:val="false"/>')), 'seen'],
    [
      'paragraphs whose mark is hidden',
      p('<w:pPr><w:rPr><w:vanish/></w:rPr></w:pPr>', run(t('one'))) + p(run(t('two'))),
      'one\ntwo',
    ],
    [
      'symbols',
      p(symbol('Wingdings', 'F0FE'), run(t(' done ')), symbol('Wingdings', 'f0e0'), symbol('Arial', '00AB')),
      '☒ done →«',
    ],
    [
      'values of forms',
      p(
        form('<w:checkBox><w:default w:val="0"/><w:checked/></w:checkBox>'),
        run(t(' yes ')),
        form('<w:checkBox><w:default w:val="1"/><w:checked w:val="0"/></w:checkBox>'),
        run(t(' no ')),
        form('<w:ddList><w:result w:val="1"/><w:listEntry w:val="red"/><w:listEntry w:val="blue"/></w:ddList>'),
      ),
      '☒ yes ☐ no blue',
    ],
    [
      'rows in one line',
      `<w:tbl><w:tr><w:tc>${p(run(`${t('a')}<w:br/>${t('b')}`))}</w:tc><w:tc>${p(run(t('c')))}</w:tc></w:tr></w:tbl>`,
      '| a b | c |',
    ],
    ['tags with > in a value', p('<w:bookmarkStart w:name="a > b"/>', run(t('x'))), 'x'],
    [
      'a table within a cell',
      `<w:tbl><w:tr><w:tc>${p(run(t('OUTER1')))}</w:tc><w:tc>${p(run(t('OUTER2')))}<w:tbl><w:tr><w:tc>${p(run(t('INNER')))}</w:tc></w:tr></w:tbl>${p(run(t('behind')))}</w:tc></w:tr></w:tbl>`,
      '| OUTER1 | OUTER2 INNER behind |',
    ],
  ])('has %s', async (_name, body, text) => {
    expect(await textOf('docx', { 'word/document.xml': document(body) })).toBe(text)
  })

  it.each([true, false])('may be UTF-16, big endian: %s', async (isBig) => {
    const xml = `<?xml version="1.0" encoding="UTF-16"?>${document(p(run(t('Grüße 漢字 😀'))))}`
    expect(await textOf('docx', { 'word/document.xml': utf16(xml, isBig) })).toBe('Grüße 漢字 😀')
  })

  it('names a document within it, which is not read', async () => {
    const files = {
      'word/document.xml': document(`${p(run(t('before')))}<w:altChunk r:id="r1"/>`),
      'word/_rels/document.xml.rels': relations(relation('aFChunk', 'r1', 'afchunk.mht')),
    }
    expect(await textOf('docx', files)).toBe('before\n[the document word/afchunk.mht within this one is not shown]')
  })
})

describe('a workbook', () => {
  const sheetOf = (rows: string, name = 'S'): Files => ({
    'xl/workbook.xml': `<workbook><sheets><sheet name="${name}" r:id="r1"/></sheets></workbook>`,
    'xl/_rels/workbook.xml.rels': relations(relation('worksheet', 'r1', 'worksheets/sheet1.xml')),
    'xl/worksheets/sheet1.xml': `<worksheet><sheetData>${rows}</sheetData></worksheet>`,
  })

  it.each([
    [
      'an empty text that a formula gave',
      '<row><c t="str"><f>IF(A2="","",A2)</f><v></v></c><c><v>1</v></c></row>',
      '\t1',
    ],
    ['an empty text in one tag', '<row><c t="str"><f>IF(A2="","",A2)</f><v/></c><c><v>1</v></c></row>', '\t1'],
    ['a formula that was never counted', '<row><c><f>A1+B1</f><v></v></c></row>', '=A1+B1'],
  ])('shows %s', async (_name, rows, text) => {
    expect(await textOf('xlsx', sheetOf(rows))).toBe(`## Sheet: S\n${text}`)
  })

  it('may have > in the name of a sheet', async () => {
    expect(await textOf('xlsx', sheetOf('<row><c><v>1</v></c></row>', "A > B's"))).toBe("## Sheet: A > B's\n1")
  })
})

describe('a presentation', () => {
  const textBox = (text: string) => `<p:sp><a:p><a:r><a:t>${text}</a:t></a:r></a:p></p:sp>`
  const slides = (content: string): Files => ({
    'ppt/presentation.xml': '<p:presentation><p:sldId id="1" r:id="r1"/></p:presentation>',
    'ppt/_rels/presentation.xml.rels': relations(relation('slide', 'r1', 'slides/slide1.xml')),
    'ppt/slides/slide1.xml': `<p:sld>${content}</p:sld>`,
    'ppt/slides/_rels/slide1.xml.rels': relations(
      relation('hyperlink', 'r1', 'https://a.example/', 'TargetMode="External"'),
    ),
  })

  it('shows what has a copy for old programs once', async () => {
    const both = `<mc:AlternateContent><mc:Choice>${textBox('new')}</mc:Choice><mc:Fallback>${textBox('old')}</mc:Fallback></mc:AlternateContent>`
    expect(await textOf('pptx', slides(both + textBox('behind')))).toBe('## Slide 1\nnew\nbehind')
  })

  it('has the address of a picture at the picture, not at the next words', async () => {
    const picture =
      '<p:pic><p:nvPicPr><p:cNvPr id="4" name="P" descr="A red crane"><a:hlinkClick r:id="r1"/></p:cNvPr></p:nvPicPr></p:pic>'
    expect(await textOf('pptx', slides(picture + textBox('behind')))).toBe(
      '## Slide 1\n[picture: A red crane]\n(https://a.example/)\nbehind',
    )
  })
})
