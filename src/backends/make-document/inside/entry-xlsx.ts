/** Writes rows as an Excel workbook, in a worker without network, secrets or session. */

import { WorkerEntrypoint } from 'cloudflare:workers'
import writeXlsxFile, { type Cell, type SheetData } from 'write-excel-file/universal'
import type { DocumentBytes } from '../../../agent/model/media/document-writer.ts'
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
    return { bytes: new Uint8Array(await blob.arrayBuffer()) }
  }
}

/** The type is named, so that no text becomes a formula. */
function toCell(value: CellValue, isHead: boolean): Cell {
  const style = isHead ? { fontWeight: 'bold' as const } : {}
  if (value === null) return null
  if (typeof value === 'number') return { type: Number, value, ...style }
  return typeof value === 'boolean' ? { type: Boolean, value, ...style } : { type: String, value, ...style }
}
