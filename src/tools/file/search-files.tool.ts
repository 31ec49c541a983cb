/** Searches the lines or the names of files. */

import * as z from 'zod'
import type { ExecutionBackend, FileHit, FileQuery } from '#agent/core/backend.ts'
import { assessByRisk } from '#agent/policy/approval/approval.ts'
import { isSearched, isSecretPath } from '#agent/path-policy/judge-path.ts'
import { assessSearch, listSecretFiles } from '../assess-paths.ts'
import { defineTool } from '../define-tool.ts'
import { fail } from '../tool-result.ts'
import { findExistingForm, findSimilarFiles } from './similar-files.ts'
import { failOnBackendError } from '../fail-on-backend-error.ts'

/** From this number on, matches are grouped by file, so that each path appears once. */
const minGroupedMatches = 5
const maxLineChars = 500
/** For the output modes that count matches and do not show them. */
const maxCountedMatches = 10_000

const input = z.object({
  pattern: z.string().min(1).describe('Regular expression, or a glob when target is "files".'),
  target: z.enum(['content', 'files']).default('content'),
  path: z.string().default('.').describe('Directory or file.'),
  file_glob: z.string().optional().describe('Only files like "*.ts".'),
  limit: z.int().min(1).max(1000).default(50),
  offset: z.int().min(0).default(0),
  output_mode: z.enum(['content', 'files_only', 'count']).default('content'),
  context: z.int().min(0).max(50).default(0).describe('Lines around a match.'),
})
type Input = z.infer<typeof input>

export default defineTool({
  name: 'search_files',
  toolset: 'file',
  description:
    'Search file contents (regex, line by line) or find files by name. Use this rather than grep, find or ls. Files with secrets are not searched.',
  input,
  needs: ['backend'],
  effect: 'pure',
  risk: () => 'read',
  assess: ({ path, target }, { backend }) =>
    target === 'content' ? assessSearch(path, backend) : assessByRisk('read', [path, backend.resolve(path)]),
  touches: ({ path }, { backend }) => [backend.resolve(path)],
  run: (request, { backend }) =>
    failOnBackendError(async () => {
      const path = await findExistingForm(backend, backend.resolve(request.path))
      if (!(await backend.files.stat(path))) {
        const similar_files = await findSimilarFiles(backend, path)
        return fail(`No such file or directory: ${request.path}`, { similar_files })
      }
      if (request.target === 'files') return findFiles(backend, request, path)
      const search = await createSearch(backend, request, path)
      const answer = await (request.output_mode === 'content' ? findLines : countLines)(backend, request, search)
      return { ...answer, ...describeSkipped(search.skipped) }
    }),
})

type LineSearch = {
  readonly query: Omit<FileQuery, 'limit' | 'offset'>
  /** Files with secrets that are left out. */
  readonly skipped: readonly string[]
}

/** Leaves out files with secrets, except where the path itself is one: then a person has allowed the call. */
async function createSearch(backend: ExecutionBackend, request: Input, path: string): Promise<LineSearch> {
  const { file_glob, context } = request
  const pattern = inBothForms(request.pattern)
  const listed = isSecretPath(path) ? undefined : await listSecretFiles(backend, path)
  const secrets = listed?.filter((file) => isSearched(file, file_glob)) ?? []
  const glob = file_glob === undefined ? {} : { glob: file_glob }
  const exclude = secrets.length === 0 ? {} : { exclude: secrets }
  return { query: { target: 'content', pattern, path, context, ...glob, ...exclude }, skipped: secrets }
}

/** A text may have its letters composed or decomposed. */
function inBothForms(pattern: string): string {
  const forms = [...new Set([pattern.normalize('NFC'), pattern.normalize('NFD')])]
  return forms.length === 1 ? pattern : `(?:${forms.join('|')})`
}

const describeSkipped = (skipped: readonly string[]) =>
  skipped.length === 0
    ? {}
    : {
        skipped_secret_files: skipped.length,
        skipped_hint:
          'Files that may hold secrets were not searched. Name one as path to search it; that asks a person.',
      }

/** A host may list no secrets, or ignore `exclude`. */
async function searchLines(backend: ExecutionBackend, { query }: LineSearch, page: { limit: number; offset: number }) {
  const result = await backend.files.search({ ...query, ...page })
  if (isSecretPath(query.path ?? '')) return result
  const hits = result.hits.filter(({ path }) => !isSecretPath(backend.resolve(path)))
  return { ...result, hits, total: result.total - (result.hits.length - hits.length) }
}

const toRelativePath = (backend: ExecutionBackend, path: string): string =>
  path.startsWith(`${backend.capabilities.root}/`) ? path.slice(backend.capabilities.root.length + 1) : path

const pageHint = (truncated: boolean, next: number) =>
  truncated ? { truncated, hint: `More: offset ${next}, or a narrower pattern, path or file_glob.` } : { truncated }

async function findFiles(backend: ExecutionBackend, request: Input, path: string) {
  // A pattern without wildcards matches a part of the name.
  const pattern = /[*?[{]/.test(request.pattern) ? request.pattern : `*${request.pattern}*`
  const { limit, offset } = request
  const { hits, total, truncated } = await searchForms(backend, { target: 'files', pattern, path, limit, offset })
  const files = hits.map((hit) => toRelativePath(backend, hit.path))
  return { files, total_count: total, ...pageHint(truncated, offset + files.length) }
}

/** Some systems store names with their letters decomposed. A pattern with such letters is searched in both forms. */
async function searchForms(
  backend: ExecutionBackend,
  query: FileQuery,
): ReturnType<ExecutionBackend['files']['search']> {
  const forms = [...new Set([query.pattern.normalize('NFC'), query.pattern.normalize('NFD')])]
  if (forms.length === 1) return backend.files.search(query)
  const limit = query.limit + query.offset
  const found = await Promise.all(forms.map((pattern) => backend.files.search({ ...query, pattern, limit, offset: 0 })))
  const hits = found.flatMap((one) => one.hits).toSorted((a, b) => (a.path < b.path ? -1 : 1))
  const total = found.reduce((sum, one) => sum + one.total, 0)
  const shown = hits.slice(query.offset, limit)
  return { hits: shown, total, truncated: found.some((one) => one.truncated) || hits.length > limit }
}

async function findLines(backend: ExecutionBackend, request: Input, search: LineSearch) {
  const { limit, offset, context } = request
  const { hits, total, truncated } = await searchLines(backend, search, { limit, offset })
  const found = hits.map((hit) => ({ ...hit, path: toRelativePath(backend, hit.path) }))
  const matches = found.length < minGroupedMatches ? found.map((hit) => renderMatch(hit, context)) : groupByFile(found)
  return { matches, total_count: total, ...pageHint(truncated, offset + hits.length) }
}

const truncateLine = (text: string): string =>
  text.length <= maxLineChars ? text : `${text.slice(0, maxLineChars)}...`

const renderMatch = ({ path, line = 0, text = '', before = [], after = [] }: FileHit, context: number) => ({
  path,
  line,
  content: truncateLine(text),
  ...(context > 0 && { before: before.map(truncateLine), after: after.map(truncateLine) }),
})

/** Uses the notation of grep: `12:match`, `11-context`. */
function groupByFile(hits: readonly FileHit[]) {
  const files = new Map<string, Map<number, string>>()
  for (const { path, line = 0, text = '', before = [], after = [] } of hits) {
    const lines = files.get(path) ?? new Map<number, string>()
    files.set(path, lines)
    const above = before.map((one, i) => [line - before.length + i, one] as const)
    const around = above.concat(after.map((one, i) => [line + 1 + i, one] as const))
    for (const [number, one] of around) if (!lines.has(number)) lines.set(number, `${number}-${truncateLine(one)}`)
    lines.set(line, `${line}:${truncateLine(text)}`)
  }
  return [...files].map(([path, lines]) => ({
    path,
    lines: [...lines].toSorted(([a], [b]) => a - b).map(([, text]) => text),
  }))
}

async function countLines(backend: ExecutionBackend, request: Input, { query, skipped }: LineSearch) {
  const search = { query: { ...query, context: 0 }, skipped }
  const { hits, total, truncated } = await searchLines(backend, search, { limit: maxCountedMatches, offset: 0 })
  const counts = new Map<string, number>()
  for (const hit of hits)
    counts.set(toRelativePath(backend, hit.path), (counts.get(toRelativePath(backend, hit.path)) ?? 0) + 1)
  const page = [...counts].slice(request.offset, request.offset + request.limit)
  const more = pageHint(truncated || request.offset + page.length < counts.size, request.offset + page.length)
  if (request.output_mode === 'count') return { counts: Object.fromEntries(page), total_count: total, ...more }
  return { files: page.map(([file]) => file), total_count: counts.size, ...more }
}
