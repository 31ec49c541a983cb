/**
 * Writes Markdown as a presentation, in a worker without network, secrets or session. A heading of the first or second
 * level, or a rule, begins a slide.
 */

import { WorkerEntrypoint } from 'cloudflare:workers'
import PptxGenJS from 'pptxgenjs'
import type { DocumentBytes } from '#agent/core/media/document-writer.ts'
import { type Block, parseMarkdown, type StyledRun, textOf } from './markdown.ts'

type Slide = { title: string; readonly blocks: Block[] }
type TextProps = PptxGenJS.TextProps

export class Writer extends WorkerEntrypoint {
  async write(content: string): Promise<DocumentBytes> {
    const file = new PptxGenJS()
    const slides = splitSlides(parseMarkdown(content))
    for (const slide of slides.length ? slides : [{ title: '', blocks: [] }]) addSlide(file, slide)
    return { bytes: (await file.write({ outputType: 'uint8array' })) as Uint8Array }
  }
}

const titleLevel = 2

function splitSlides(blocks: readonly Block[]): readonly Slide[] {
  const slides: Slide[] = []
  for (const block of blocks) {
    const isTitle = block.kind === 'heading' && block.level <= titleLevel
    if (isTitle) slides.push({ title: textOf(block.runs), blocks: [] })
    else if (block.kind === 'rule' || !slides.length) slides.push({ title: '', blocks: [] })
    if (!isTitle && block.kind !== 'rule') slides.at(-1)?.blocks.push(block)
  }
  // A rule before a heading begins the same slide.
  return slides.filter(({ title, blocks: content }) => title || content.length)
}

/** Inches on a slide of 10 by 5.63. */
const body = { x: 0.5, w: 9, h: 4.1 } as const
const maxSlideLines = 24

function addSlide(file: PptxGenJS, { title, blocks }: Slide): void {
  const slide = file.addSlide()
  const top = title ? 1.2 : 0.4
  if (title) slide.addText(title, { x: body.x, y: 0.3, w: body.w, h: 0.8, fontSize: 30, bold: true })
  const tables = blocks.flatMap((block) => (block.kind === 'table' ? [block.rows] : []))
  const texts = blocks.flatMap(renderBlock)
  const textHeight = tables.length ? Math.min(2, texts.length * 0.4) : body.h
  const fontSize = texts.length > maxSlideLines / 2 ? 14 : 18
  if (texts.length)
    slide.addText(texts, { x: body.x, y: top, w: body.w, h: textHeight, fontSize, valign: 'top', fit: 'shrink' })
  tables.forEach((rows, at) => {
    const y = top + (texts.length ? textHeight : 0) + at * 1.5
    const cells = rows.map((row, n) => row.map((runs) => ({ text: textOf(runs), options: { bold: n === 0 } })))
    slide.addTable(cells, { x: body.x, y, w: body.w, fontSize: 12, border: { type: 'solid', pt: 0.5 } })
  })
}

function renderBlock(block: Block): readonly TextProps[] {
  switch (block.kind) {
    case 'heading':
      return paragraph(block.runs, { bold: true })
    case 'paragraph':
      return paragraph(block.runs, {})
    case 'quote':
      return paragraph(block.runs, { italic: true })
    case 'item':
      return paragraph(block.runs, {
        bullet: block.number === undefined ? true : { type: 'number' },
        indentLevel: block.depth,
      })
    case 'code':
      return block.lines.flatMap((text) => paragraph([{ text, code: true }], {}))
    case 'table':
    case 'rule':
      return []
  }
}

/** Options of a paragraph are those of its first run; the last one ends it. */
const paragraph = (runs: readonly StyledRun[], options: PptxGenJS.TextPropsOptions): readonly TextProps[] =>
  runs.map(({ text, bold, italic, code, link }, at) => ({
    text,
    options: {
      ...options,
      ...(bold && { bold }),
      ...(italic && { italic }),
      ...(code && { fontFace: 'Courier New' }),
      ...(link !== undefined && { hyperlink: { url: link } }),
      ...(at === runs.length - 1 && { breakLine: true }),
    },
  }))
