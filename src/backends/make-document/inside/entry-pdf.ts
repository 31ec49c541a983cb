/** Writes Markdown as a PDF file with the standard fonts and one for other letters, in a worker without network, secrets or session. */

import { WorkerEntrypoint } from 'cloudflare:workers'
import fontkit from '@pdf-lib/fontkit'
import fontFile from 'font.ttf'
import { PDFDocument, type PDFFont, type PDFPage, StandardFonts } from 'pdf-lib'
import type { DocumentBytes } from '#agent/core/media/document-writer.ts'
import { type HasCharacter, listMissing, readCharacters, warnOfMissing } from './font-characters.ts'
import { type Block, parseMarkdown, type StyledRun } from './markdown.ts'

const page = { width: 595, height: 842, margin: 56 } as const
const textWidth = page.width - 2 * page.margin
const headingSizes = [22, 18, 15, 13, 12, 12] as const
const textSize = 11
const lineHeight = 1.35
const indent = 18

/** `other`: for words with letters that the standard fonts do not have. */
type Fonts = Readonly<Record<'plain' | 'bold' | 'italic' | 'code', PDFFont>> & {
  readonly other: PDFFont | undefined
  readonly isStandard: HasCharacter
}
type PdfWord = {
  readonly text: string
  readonly font: PDFFont
  /** There is no space before it: it goes on in another font. */
  readonly isGlued: boolean
}
type Layout = { readonly file: PDFDocument; readonly fonts: Fonts; current: PDFPage; y: number }
type PdfStyle = { readonly size: number; readonly left: number; readonly mark?: string; readonly isBold?: boolean }

export class Writer extends WorkerEntrypoint {
  async write(content: string): Promise<DocumentBytes> {
    const file = await PDFDocument.create()
    const fonts = await embedFonts(file)
    const has = fontFile.byteLength ? readCharacters(fontFile) : () => false
    const missing = listMissing(content, (code) => fonts.isStandard(code) || has(code))
    if (isMostlyMissing(content, missing))
      return { refused: `${warnOfMissing(missing, '').join('')}Make a docx instead.` }
    const layout: Layout = {
      file,
      fonts,
      current: file.addPage([page.width, page.height]),
      y: page.height - page.margin,
    }
    for (const block of parseMarkdown(replaceMissing(content, missing))) drawBlock(layout, block)
    const warnings = [
      ...warnOfMissing(missing, `They are shown as ${substitute}. A docx has them.`),
      ...(rightToLeft.test(content) ? ['Words written from right to left may be in the wrong order.'] : []),
    ]
    return { bytes: await file.save(), ...(warnings.length && { warnings }) }
  }
}

async function embedFonts(file: PDFDocument): Promise<Fonts> {
  file.registerFontkit(fontkit)
  const plain = await file.embedFont(StandardFonts.Helvetica)
  const standard = new Set(plain.getCharacterSet())
  return {
    plain,
    bold: await file.embedFont(StandardFonts.HelveticaBold),
    italic: await file.embedFont(StandardFonts.HelveticaOblique),
    code: await file.embedFont(StandardFonts.Courier),
    // Ligatures would be read back as other characters.
    other: fontFile.byteLength
      ? await file.embedFont(fontFile, { subset: true, features: { liga: false } })
      : undefined,
    isStandard: (code) => standard.has(code),
  }
}

const substitute = '\u25a1'
const rightToLeft = /[\u0590-\u08ff]/

const isMostlyMissing = (content: string, missing: readonly string[]): boolean => {
  const absent = new Set(missing)
  const letters = [...content.replace(/\s/g, '')]
  return letters.filter((char) => absent.has(char)).length * 2 > letters.length
}

function replaceMissing(content: string, missing: readonly string[]): string {
  const absent = new Set(missing)
  return absent.size ? [...content].map((char) => (absent.has(char) ? substitute : char)).join('') : content
}

function drawBlock(layout: Layout, block: Block): void {
  switch (block.kind) {
    case 'code':
      for (const line of block.lines) drawRuns(layout, [{ text: line || ' ', code: true }], { size: 9, left: indent })
      return
    case 'table':
      return drawTable(layout, block.rows)
    case 'rule':
      return drawRule(layout)
    default:
      if (block.kind === 'heading') layout.y -= textSize / 2
      return drawRuns(layout, block.runs, renderStyle(block))
  }
}

function renderStyle(block: Extract<Block, { readonly runs: unknown }>): PdfStyle {
  switch (block.kind) {
    case 'heading':
      return { size: headingSizes[block.level - 1] ?? textSize, left: 0, isBold: true }
    case 'paragraph':
      return { size: textSize, left: 0 }
    case 'quote':
      return { size: textSize, left: indent }
    case 'item': {
      const mark = block.number === undefined ? '•' : `${block.number}.`
      return { size: textSize, left: indent * (block.depth + 1), mark }
    }
  }
}

function drawRule(layout: Layout): void {
  nextLine(layout, textSize)
  const start = { x: page.margin, y: layout.y }
  layout.current.drawLine({ start, end: { ...start, x: page.width - page.margin }, thickness: 0.5 })
}

function drawTable(layout: Layout, rows: Extract<Block, { kind: 'table' }>['rows']): void {
  rows.forEach((row, n) => drawRow(layout, row, n === 0))
  layout.y -= textSize / 2
}

function drawRuns(layout: Layout, runs: readonly StyledRun[], { size, left, mark, isBold = false }: PdfStyle): void {
  const { fonts } = layout
  const lines = wrap(toWords(runs, fonts, isBold), size, textWidth - left)
  lines.forEach((words, n) => {
    nextLine(layout, size)
    const x = page.margin + left
    if (n === 0 && mark !== undefined)
      layout.current.drawText(mark, { x: x - indent * 0.8, y: layout.y, size, font: fonts.plain })
    drawWords(layout, words, x, size)
  })
  layout.y -= size * 0.4
}

/** Every cell has the same width. A row is as high as its highest cell. */
function drawRow(layout: Layout, cells: readonly (readonly StyledRun[])[], isHead: boolean): void {
  const width = textWidth / Math.max(1, cells.length)
  const wrapped = cells.map((runs) => wrap(toWords(runs, layout.fonts, isHead), 10, width - 8))
  const height = Math.max(1, ...wrapped.map(({ length }) => length))
  for (let n = 0; n < height; n++) {
    nextLine(layout, 10)
    wrapped.forEach((lines, column) => drawWords(layout, lines[n] ?? [], page.margin + column * width, 10))
  }
  layout.y -= 3
}

function nextLine(layout: Layout, size: number): void {
  layout.y -= size * lineHeight
  if (layout.y >= page.margin) return
  layout.current = layout.file.addPage([page.width, page.height])
  layout.y = page.height - page.margin - size
}

/** Words of one font are drawn together, so that readers of the file see whole lines. */
function drawWords({ current, y }: Layout, words: readonly PdfWord[], left: number, size: number): void {
  let x = left
  for (let at = 0; at < words.length;) {
    const { font } = words[at] as PdfWord
    let end = at
    while (words[end]?.font === font) end++
    const text = words
      .slice(at, end)
      .map((word, n) => `${n === 0 || word.isGlued ? '' : ' '}${word.text}`)
      .join('')
    current.drawText(text, { x, y, size, font })
    x += font.widthOfTextAtSize(words[end]?.isGlued ? text : `${text} `, size)
    at = end
  }
}

function toWords(runs: readonly StyledRun[], fonts: Fonts, isBold: boolean): readonly PdfWord[] {
  const { plain, bold, italic, code, other, isStandard } = fonts
  const fontOf = (run: StyledRun): PDFFont => {
    if (run.code) return code
    if (isBold || run.bold) return bold
    return run.italic ? italic : plain
  }
  let isOpen = false
  return runs.flatMap((run) => {
    const own = fontOf(run)
    // The fonts have one kind of white space.
    const parts = run.code ? [run.text.replaceAll('\t', '    ').replace(/\s/g, ' ')] : run.text.split(/\s+/)
    const fits = (text: string) => [...text].every((char) => isStandard(char.codePointAt(0) ?? 0))
    // An empty part stands for white space at the edge of the run.
    const isFirstGlued = isOpen && parts[0] !== ''
    isOpen = parts.at(-1) !== '' || (isOpen && parts.length === 1)
    return parts.filter(Boolean).map((text, n) => {
      return { text, font: fits(text) ? own : (other ?? own), isGlued: n === 0 && isFirstGlued }
    })
  })
}

function wrap(words: readonly PdfWord[], size: number, width: number): readonly (readonly PdfWord[])[] {
  const lines: PdfWord[][] = [[]]
  let used = 0
  const nextUnless = (wide: number): void => {
    if (used + wide <= width || used === 0) return
    lines.push([])
    used = 0
  }
  const widthOf = ({ text, font }: PdfWord): number => font.widthOfTextAtSize(text, size)
  for (const unit of joinGlued(words.flatMap((one) => breakWord(one, size, width)))) {
    const space = unit.at(-1)?.font.widthOfTextAtSize(' ', size) ?? 0
    nextUnless(unit.reduce((sum, word) => sum + widthOf(word), space))
    for (const word of unit) {
      // The unit may be wider than a line.
      nextUnless(widthOf(word))
      lines.at(-1)?.push(word)
      used += widthOf(word)
    }
    used += space
  }
  return lines
}

/** Words without a space between them stay in one line. */
function joinGlued(words: readonly PdfWord[]): readonly (readonly PdfWord[])[] {
  const units: PdfWord[][] = []
  for (const word of words) {
    const last = units.at(-1)
    if (word.isGlued && last) last.push(word)
    else units.push([word])
  }
  return units
}

/** Breaks a word that is wider than a line. */
function breakWord({ text, font, isGlued }: PdfWord, size: number, width: number): readonly PdfWord[] {
  if (font.widthOfTextAtSize(text, size) <= width) return [{ text, font, isGlued }]
  const chars = Math.max(1, Math.floor((text.length * width) / (font.widthOfTextAtSize(text, size) * 1.1)))
  return Array.from({ length: Math.ceil(text.length / chars) }, (_, n) => ({
    text: text.slice(n * chars, (n + 1) * chars),
    font,
    isGlued: isGlued || n > 0,
  }))
}
