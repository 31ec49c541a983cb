/** Imports the code of the isolates that write documents, one library each. */

import type { DocumentKind } from '../../agent/model/media/document-writer.ts'

export const writerCode: Readonly<Record<DocumentKind, () => Promise<string>>> = {
  xlsx: async () => (await import('../dist/write-xlsx.isolate.txt')).default,
  docx: async () => (await import('../dist/write-docx.isolate.txt')).default,
  pptx: async () => (await import('../dist/write-pptx.isolate.txt')).default,
  pdf: async () => (await import('../dist/write-pdf.isolate.txt')).default,
  svg: async () => (await import('../dist/write-svg.isolate.txt')).default,
}
