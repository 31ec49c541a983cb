import * as z from 'zod'
import { defineTool } from '../define.ts'
import { linesOf, view } from './lines.ts'
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
    'Read a text file of the workspace as lines "N|text"; the numbers are not part of the file. Page with offset and limit. Use this rather than cat, head or sed.',
  input,
  needs: ['backend'],
  effect: 'pure',
  maxResult: Number.POSITIVE_INFINITY,
  risk: () => 'read',
  touches: ({ path }, { backend }) => [backend.resolve(path)],
  run: ({ path, offset, limit }, { backend }) =>
    answering(async () => {
      const file = await readTextFile(backend, path)
      return isTextFile(file) ? page(file, offset, Math.min(limit, MAX_LINES)) : file
    }),
})

function page({ text, size }: TextFile, offset: number, limit: number) {
  const lines = linesOf(text)
  const { content, next } = view(lines, offset, limit, MAX_CHARS)
  const hint = hintFor({ lines: lines.length, offset, next, size })
  return {
    content,
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
