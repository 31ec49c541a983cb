/** Writes Markdown as a Word document, in a worker without network, secrets or session. */

import { WorkerEntrypoint } from 'cloudflare:workers'
import {
  BorderStyle,
  Document,
  ExternalHyperlink,
  HeadingLevel,
  LevelFormat,
  Packer,
  Paragraph,
  type ParagraphChild,
  Table,
  TableCell,
  TableRow,
  TextRun,
  WidthType,
} from 'docx'
import type { DocumentBytes } from '#agent/core/media/document-writer.ts'
import { type Block, parseMarkdown, type StyledRun } from './markdown.ts'

export class Writer extends WorkerEntrypoint {
  async write(content: string): Promise<DocumentBytes> {
    const children = parseMarkdown(content).flatMap(renderBlock)
    const file = new Document({
      numbering: { config: [{ reference: ordered, levels: numberedLevels }] },
      sections: [{ children: children.length ? children : [new Paragraph({})] }],
    })
    return { bytes: new Uint8Array(await Packer.toArrayBuffer(file)) }
  }
}

const ordered = 'ordered'
const codeFont = 'Courier New'
const indentTwips = 400

const numberedLevels = Array.from({ length: 9 }, (_, level) => ({
  level,
  format: LevelFormat.DECIMAL,
  text: `%${level + 1}.`,
  style: { paragraph: { indent: { left: indentTwips * (level + 1), hanging: indentTwips / 2 } } },
}))

const headings = [
  HeadingLevel.HEADING_1,
  HeadingLevel.HEADING_2,
  HeadingLevel.HEADING_3,
  HeadingLevel.HEADING_4,
  HeadingLevel.HEADING_5,
  HeadingLevel.HEADING_6,
] as const

function renderBlock(block: Block): readonly (Paragraph | Table)[] {
  switch (block.kind) {
    case 'heading':
      return [
        new Paragraph({ heading: headings[block.level - 1] ?? HeadingLevel.HEADING_6, children: render(block.runs) }),
      ]
    case 'paragraph':
      return [new Paragraph({ children: render(block.runs), spacing: { after: 160 } })]
    case 'quote':
      return [new Paragraph({ children: render(block.runs), indent: { left: indentTwips } })]
    case 'item':
      return [
        new Paragraph({
          children: render(block.runs),
          ...(block.number === undefined
            ? { bullet: { level: block.depth } }
            : { numbering: { reference: ordered, level: block.depth } }),
        }),
      ]
    case 'code':
      return block.lines.map((text) => new Paragraph({ children: [new TextRun({ text, font: codeFont })] }))
    case 'table':
      return [renderTable(block.rows), new Paragraph({})]
    case 'rule':
      return [new Paragraph({ border: { bottom: { style: BorderStyle.SINGLE, size: 6 } } })]
  }
}

const renderTable = (rows: Extract<Block, { kind: 'table' }>['rows']): Table =>
  new Table({
    width: { size: 100, type: WidthType.PERCENTAGE },
    rows: rows.map(
      (cells, row) =>
        new TableRow({
          tableHeader: row === 0,
          children: cells.map(
            (runs) => new TableCell({ children: [new Paragraph({ children: render(runs, row === 0) })] }),
          ),
        }),
    ),
  })

const render = (runs: readonly StyledRun[], isBold = false): ParagraphChild[] =>
  runs.map(({ text, bold, italic, code, link }) => {
    const run = new TextRun({
      text,
      bold: isBold || bold === true,
      italics: italic === true,
      ...(code && { font: codeFont }),
      ...(link !== undefined && { style: 'Hyperlink' }),
    })
    return link === undefined ? run : new ExternalHyperlink({ children: [run], link })
  })
