/** Computes all edits of a patch before the first file is written. */

import type { ExecutionBackend } from '#agent/core/backend.ts'
import type { ToolResult } from '#agent/core/tool.ts'
import { fail } from '../../tool-result.ts'
import { isTextFile, readEditableFile } from '../read-text-file.ts'
import { applyHunks } from './apply-hunks.ts'
import type { PatchOperation } from './parse-patch.ts'

/** `before` is undefined for a new file, `after` for a deleted one. Paths are canonical. */
export type FileEdit = {
  readonly path: string
  readonly before: string | undefined
  readonly after: string | undefined
}

export type EditPlan = { readonly edits: readonly FileEdit[] }

/** The state of files after the earlier changes of the same patch, by path. */
type DraftEdits = Map<string, FileEdit>

export async function planEdits(
  backend: ExecutionBackend,
  changes: readonly PatchOperation[],
): Promise<EditPlan | ToolResult> {
  const draft: DraftEdits = new Map()
  for (const change of changes) {
    const failure = await addChange(backend, draft, change)
    if (failure) return failure
  }
  return { edits: [...draft.values()].filter(({ before, after }) => before !== after) }
}

const nothingWritten = 'Nothing was written.'

async function addChange(
  backend: ExecutionBackend,
  draft: DraftEdits,
  change: PatchOperation,
): Promise<ToolResult | undefined> {
  const path = backend.resolve(change.path)
  if (change.do === 'add') return addNewFile(backend, draft, path, change.content)
  const current = await loadDraft(backend, draft, path)
  if (!('before' in current)) return current
  if (change.do === 'delete') {
    draft.set(path, { ...current, after: undefined })
    return undefined
  }
  const result = applyHunks(current.after ?? '', change.hunks)
  if ('error' in result) return fail(`${change.path}: ${result.error} ${nothingWritten}`)
  if (change.moveTo === undefined) {
    draft.set(path, { ...current, after: result.text })
    return undefined
  }
  draft.set(path, { ...current, after: undefined })
  return addNewFile(backend, draft, backend.resolve(change.moveTo), result.text)
}

async function addNewFile(
  backend: ExecutionBackend,
  draft: DraftEdits,
  path: string,
  content: string,
): Promise<ToolResult | undefined> {
  const drafted = draft.get(path)
  const exists = drafted ? drafted.after !== undefined : (await backend.files.stat(path)) !== undefined
  if (exists) return fail(`${path} exists already: use "*** Update File". ${nothingWritten}`)
  draft.set(path, { path, before: drafted?.before, after: content })
  return undefined
}

async function loadDraft(backend: ExecutionBackend, draft: DraftEdits, path: string): Promise<FileEdit | ToolResult> {
  const drafted = draft.get(path)
  if (drafted?.after !== undefined) return drafted
  if (drafted) return fail(`${path} is deleted earlier in this patch. ${nothingWritten}`)
  const file = await readEditableFile(backend, path)
  return isTextFile(file) ? { path, before: file.text, after: file.text } : file
}
