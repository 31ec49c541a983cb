import * as z from 'zod'
import { defineTool } from '../define-tool.ts'
import { readImage } from './image.ts'
import { linesOf, view } from './lines.ts'
import { readDocument } from './documents/render.ts'
import { isUnchanged } from './seen.ts'
import { answering, isTextFile, readTextFile, type TextFile } from './text.ts'

const MAX_LINES = 2000
const MAX_CHARS = 100_000
const LARGE = 512 * 1024

const input = z.object({
  path: z.string().min(1),
  offset: z.int().min(1).default(1).describe('First line, 1-based.'),
  limit: z.int().min(1).default(MAX_LINES).describe('Lines, at most 2000.'),
})

/** Pages itself, so that its result is never spilled. */
export default defineTool({
  name: 'read_file',
  toolset: 'file',
  description:
    'Read a text file of the workspace as lines "N|text"; the numbers are not part of the file. Notebooks, .pdf, .docx and .xlsx come as text, images as images where the model sees them. Page with offset and limit. Use this rather than cat, head or sed.',
  input,
  needs: ['backend', 'documents'],
  effect: 'pure',
  maxResult: Number.POSITIVE_INFINITY,
  risk: () => 'read',
  touches: ({ path }, { backend }) => [backend.resolve(path)],
  run: ({ path, offset, limit }, { backend, documents, callId, signal, seesImages }) =>
    answering(async () => {
      const image = seesImages ? await readImage(backend, path) : undefined
      if (image) return image
      const file = (await readDocument({ backend, documents, signal }, path)) ?? (await readTextFile(backend, path))
      if (!isTextFile(file)) return file
      const lines = Math.min(limit, MAX_LINES)
      if (isUnchanged(backend, callId, { path: file.path, offset, limit: lines, text: file.text })) return unchanged
      return page(file, offset, lines)
    }),
})

const unchanged = {
  unchanged: true,
  note: 'This part of the file is as you have read it before, and not repeated. If you no longer have it, read it once more.',
}

function page({ text, size, format }: TextFile & { readonly format?: string }, offset: number, limit: number) {
  const lines = linesOf(text)
  const { content, next } = view(lines, offset, limit, MAX_CHARS)
  const hint = hintFor({ lines: lines.length, offset, next, size })
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

type Reading = {
  readonly lines: number
  readonly offset: number
  readonly next: number | undefined
  readonly size: number
}

function hintFor({ lines, offset, next, size }: Reading): string | undefined {
  if (lines === 0) return 'The file is empty.'
  if (offset > lines) return `The file ends at line ${lines}.`
  if (next === undefined) return undefined
  const where = `Continue with offset ${next}.`
  return size > LARGE ? `Large file: find the place with search_files first, then read around it. ${where}` : where
}
