/** Writes rows as an Excel workbook, in a worker without network, secrets or session. */

import { WorkerEntrypoint } from 'cloudflare:workers'
import writeXlsxFile, { type Cell, type SheetData } from 'write-excel-file/universal'
import type { DocumentBytes } from '#agent/core/media/document-writer.ts'
import { cutText } from '../legal-text.ts'
import { type CellValue, parseSheets } from './sheet-rows.ts'

export class Writer extends WorkerEntrypoint {
  async write(content: string): Promise<DocumentBytes> {
    const sheets = parseSheets(content)
    if ('refused' in sheets) return sheets
    const written = writeXlsxFile(
      sheets.map(({ name, rows }) => ({
        sheet: name,
        data: rows.map((cells, row) => cells.map((value) => toCell(value, row === 0))) as SheetData,
      })),
    )
    const blob = await written.toBlob()
    const isCut = sheets.some(({ rows }) => rows.some((cells) => cells.some(isLong)))
    const warnings = [`Cells are cut at ${maxCellChars} characters, the limit of Excel.`]
    return { bytes: new Uint8Array(await blob.arrayBuffer()), ...(isCut && { warnings }) }
  }
}

/** Excel repairs a file with longer texts and loses them. */
const maxCellChars = 32_767

const isLong = (value: CellValue): boolean => typeof value === 'string' && value.length > maxCellChars

/** The type is named, so that no text becomes a formula. */
function toCell(value: CellValue, isHead: boolean): Cell {
  const style = isHead ? { fontWeight: 'bold' as const } : {}
  if (value === null) return null
  if (typeof value === 'number') return { type: Number, value, ...style }
  if (typeof value === 'boolean') return { type: Boolean, value, ...style }
  return { type: String, value: cutText(value, maxCellChars), ...style }
}
