/** Extracts the text of an office document or a notebook within a budget of work and output. */

import type { OfficeAnswer, OfficeFormat } from '#agent/core/media/document.ts'
import { extractDocxText } from './docx-text.ts'
import { extractNotebookText } from './notebook-text.ts'
import { extractPptxText } from './pptx-text.ts'
import { BudgetError, createBudget, type WorkBudget } from './work-budget.ts'
import { extractXlsxText } from './xlsx-text.ts'
import { openZipArchive } from './zip-archive.ts'

const maxCharacters = 2_000_000

export async function extractOffice(
  bytes: Uint8Array,
  format: OfficeFormat,
  yieldThread: () => Promise<void>,
): Promise<OfficeAnswer> {
  const limits = { unpackedBytes: 64 * 1024 * 1024, characters: maxCharacters, steps: 20_000_000 }
  try {
    const text = await extractText(bytes, format, createBudget(limits, yieldThread))
    if (text === undefined) return { refused: 'damaged' }
    return { text: text.length > maxCharacters ? `${text.slice(0, maxCharacters)}\n[the text is longer]` : text }
  } catch (error) {
    if (error instanceof BudgetError) return { refused: 'stopped' }
    // The platform throws one of these for an archive that is damaged.
    if (error instanceof TypeError || error instanceof RangeError) return { refused: 'damaged' }
    throw error
  }
}

const extractors = { docx: extractDocxText, xlsx: extractXlsxText, pptx: extractPptxText } as const

async function extractText(bytes: Uint8Array, format: OfficeFormat, budget: WorkBudget): Promise<string | undefined> {
  if (format === 'ipynb') return extractNotebookText(new TextDecoder().decode(bytes))
  const archive = openZipArchive(bytes, budget)
  return archive && extractors[format](archive, budget)
}
