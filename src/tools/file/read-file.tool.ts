/** Reads a text file, a document or an image. It limits its own result, so the dispatcher never spills it. */

import * as z from 'zod'
import { assessReads } from '../assess-paths.ts'
import { defineTool } from '../define-tool.ts'
import { readImage } from './read-image.ts'
import { splitLines, renderNumberedLines } from './numbered-lines.ts'
import { readDocument } from './documents/read-document.ts'
import { isUnchangedPage } from './unchanged-page.ts'
import { failOnBackendError } from '../fail-on-backend-error.ts'
import { isTextFile, readTextFile, type TextFile } from './read-text-file.ts'

const maxLines = 2000
const maxChars = 100_000
const largeFileBytes = 512 * 1024

const input = z.object({
  path: z.string().min(1),
  offset: z.int().min(1).default(1).describe('First line, 1-based.'),
  limit: z.int().min(1).default(maxLines).describe('Lines, at most 2000.'),
})

export default defineTool({
  name: 'read_file',
  toolset: 'file',
  description:
    'Read a text file of the workspace as lines "N|text"; the numbers are not part of the file. Notebooks, .pdf, .docx, .xlsx and .pptx come as text, images as images where the model sees them. Page with offset and limit. Use this rather than cat, head or sed.',
  input,
  needs: ['backend', 'documents'],
  effect: 'pure',
  maxResultChars: Number.POSITIVE_INFINITY,
  risk: () => 'read',
  assess: ({ path }, { backend }) => assessReads([path], backend),
  touches: ({ path }, { backend }) => [backend.resolve(path)],
  run: ({ path, offset, limit }, { backend, documents, callId, signal, seesImages, maxResultChars = maxChars }) =>
    failOnBackendError(async () => {
      const image = seesImages ? await readImage(backend, path) : undefined
      if (image) return image
      const file = (await readDocument({ backend, documents, signal }, path)) ?? (await readTextFile(backend, path))
      if (!isTextFile(file)) return file
      const lines = Math.min(limit, maxLines)
      if (isUnchangedPage(backend, callId, { path: file.path, offset, limit: lines, text: file.text }))
        return unchangedAnswer
      return renderPage(file, { offset, limit: lines, maxChars: Math.min(maxChars, maxResultChars) })
    }),
})

const unchangedAnswer = {
  unchanged: true,
  note: 'This part of the file is as you have read it before, and not repeated. If you no longer have it, read it once more.',
}

type LineRange = { readonly offset: number; readonly limit: number; readonly maxChars: number }

function renderPage(
  { text, size, format }: TextFile & { readonly format?: string },
  { offset, limit, maxChars: most }: LineRange,
) {
  const lines = splitLines(text)
  const { content, nextLine: next } = renderNumberedLines(lines, offset, limit, most)
  const hint = createHint({ lines: lines.length, offset, next, size })
  return {
    content,
    ...(format !== undefined && { rendered_from: format }),
    total_lines: lines.length,
    file_size: size,
    truncated: next !== undefined,
    ...(next !== undefined && { next_offset: next }),
    ...(hint !== undefined && { hint }),
  }
}

type ReadPosition = {
  readonly lines: number
  readonly offset: number
  readonly next: number | undefined
  readonly size: number
}

function createHint({ lines, offset, next, size }: ReadPosition): string | undefined {
  if (lines === 0) return 'The file is empty.'
  if (offset > lines) return `The file ends at line ${lines}.`
  if (next === undefined) return undefined
  const hint = `Continue with offset ${next}.`
  return size > largeFileBytes
    ? `Large file: find the place with search_files first, then read around it. ${hint}`
    : hint
}
