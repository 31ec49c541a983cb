/**
 * Edits files by a passage to replace or by a patch. A repeated edit would not find its passage, so it never repeats.
 */

import * as z from 'zod'
import type { ExecutionBackend } from '#agent/core/backend.ts'
import type { ToolResult } from '#agent/core/tool.ts'
import { assessWrites } from '../assess-paths.ts'
import { defineTool } from '../define-tool.ts'
import { fail } from '../tool-result.ts'
import type { FileEdit } from './patch/plan-edits.ts'
import { parsePatch, listPatchPaths } from './patch/parse-patch.ts'
import { failOnBackendError } from '../fail-on-backend-error.ts'
import { describeForeignChange, describePatchedChange } from './foreign-change.ts'
import { isTextFile, readEditableFile } from './read-text-file.ts'

const input = z.object({
  mode: z.enum(['replace', 'patch']).optional(),
  path: z.string().optional().describe('replace: the file.'),
  old_string: z.string().optional().describe('replace: text to find; with enough around it to be unique.'),
  new_string: z.string().optional().describe('replace: text in its place; empty deletes.'),
  replace_all: z.boolean().default(false),
  patch: z
    .string()
    .optional()
    .describe(
      'patch: *** Begin Patch, then per file "*** Update File: p" with "@@ hint" and " ", "-", "+" lines, "*** Add File: p", "*** Delete File: p"; *** End Patch.',
    ),
})
type Input = z.infer<typeof input>

export default defineTool({
  name: 'patch',
  toolset: 'file',
  description:
    'Edit files. mode "replace": one passage of one file, found even when spacing differs slightly. mode "patch": several places and files at once, all or nothing. Returns a diff.',
  input,
  needs: ['backend'],
  effect: 'effect',
  risk: () => 'write',
  assess: (request, { backend }) => assessWrites(listTouchedPaths(request), backend),
  touches: (request, { backend }) => listTouchedPaths(request).map((path) => backend.resolve(path)),
  run: (request, { backend }) =>
    failOnBackendError(() =>
      modeOf(request) === 'replace' ? replaceOne(backend, request) : applyPatch(backend, request.patch),
    ),
})

/** Models leave the mode out: what they give says which one is meant. */
const modeOf = ({ mode, patch }: Input) => mode ?? (patch === undefined ? 'replace' : 'patch')

const listTouchedPaths = (request: Input) =>
  modeOf(request) === 'replace' ? [request.path ?? ''] : listPatchPaths(request.patch ?? '')

async function replaceOne(backend: ExecutionBackend, { path, old_string, new_string, replace_all }: Input) {
  if (path === undefined || old_string === undefined || new_string === undefined)
    return fail('mode "replace" needs path, old_string and new_string.')
  if (old_string === '') return fail('old_string is empty. Use write_file to write a whole file.')
  const file = await readEditableFile(backend, path)
  if (!isTextFile(file)) return file
  if (old_string === new_string) return unchanged('old_string and new_string are the same.')
  const { replaceText } = await import('./patch/replace-text.ts')
  const result = replaceText(file.text, { from: old_string, to: new_string, all: replace_all })
  if ('error' in result) return fail(result.error, result.locations ? { locations: result.locations } : {})
  if (result.text === file.text) return unchanged('The file reads like this already.')
  const note = result.strategy === 'exact' ? '' : `Matched by ${result.strategy}: check the diff.`
  return applyEdits(backend, [{ path: file.path, before: file.text, after: result.text }], note)
}

async function applyPatch(backend: ExecutionBackend, patch: string | undefined) {
  if (patch === undefined) return fail('mode "patch" needs patch.')
  const changes = parsePatch(patch)
  if (typeof changes === 'string') return fail(changes)
  const { planEdits } = await import('./patch/plan-edits.ts')
  const planned = await planEdits(backend, changes)
  if (!('edits' in planned)) return planned
  return planned.edits.length === 0
    ? unchanged('The files read like this already.')
    : applyEdits(backend, planned.edits)
}

const unchanged = (note: string) => ({ success: true, no_change: true, diff: '', files_modified: [], note })

const writeOrRemove = ({ files }: ExecutionBackend, path: string, text: string | undefined): Promise<unknown> =>
  text === undefined ? files.remove(path) : files.write(path, new TextEncoder().encode(text))

/** Writes all edits or none: when one fails, the earlier ones are undone. */
async function writeAll(backend: ExecutionBackend, edits: readonly FileEdit[]): Promise<void> {
  const written: FileEdit[] = []
  try {
    for (const edit of edits) {
      await writeOrRemove(backend, edit.path, edit.after)
      written.unshift(edit)
    }
  } catch (error) {
    for (const { path, before } of written) await writeOrRemove(backend, path, before)
    throw error
  }
}

type PatchAnswer = Readonly<Record<string, unknown>> | ToolResult

async function applyEdits(backend: ExecutionBackend, edits: readonly FileEdit[], note = ''): Promise<PatchAnswer> {
  const changed = await findForeignChanges(backend, edits)
  const lost = changed.find(({ after }) => after === undefined)
  if (lost) return fail(describeForeignChange(lost.path), { changed_since_read: true })
  // Loaded before anything is written.
  const { renderUnifiedDiff } = await import('./patch/unified-diff.ts')
  await writeAll(backend, edits)
  await seeEdits(
    backend,
    edits.filter((edit) => !changed.includes(edit)),
  )
  const notes = [note, ...changed.map(({ path }) => describePatchedChange(path))].filter(Boolean)
  const paths = (matches: (edit: FileEdit) => boolean): string[] => edits.filter(matches).map(({ path }) => path)
  const created = paths(({ before }) => before === undefined)
  const deleted = paths(({ after }) => after === undefined)
  return {
    success: true,
    diff: edits.map(renderUnifiedDiff).join(''),
    files_modified: paths(({ before, after }) => before !== undefined && after !== undefined),
    ...(created.length > 0 && { files_created: created }),
    ...(deleted.length > 0 && { files_deleted: deleted }),
    ...(notes.length > 0 && { note: notes.join(' ') }),
  }
}

/** Edits of files that somebody else has changed. Passages are replaced in the file as it is, so nothing of it is lost. */
async function findForeignChanges({ known }: ExecutionBackend, edits: readonly FileEdit[]): Promise<FileEdit[]> {
  const changed: FileEdit[] = []
  for (const edit of edits)
    if ((await known?.compare(edit.path, encodeText(edit.before))) === 'changed') changed.push(edit)
  return changed
}

async function seeEdits({ known }: ExecutionBackend, edits: readonly FileEdit[]): Promise<void> {
  for (const { path, after } of edits) {
    const bytes = encodeText(after)
    if (bytes) await known?.see(path, bytes)
  }
}

const encodeText = (text: string | undefined): Uint8Array | undefined =>
  text === undefined ? undefined : new TextEncoder().encode(text)
