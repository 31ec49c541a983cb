/** What a patch will do to which files, worked out in full before the first byte is written. */

import type { ExecutionBackend } from '../../../agent/model/backend.ts'
import type { ToolResult } from '../../../agent/model/tool.ts'
import { fail } from '../../tool-result.ts'
import { isTextFile, readEditable } from '../text.ts'
import { applyHunks } from './apply-hunks.ts'
import type { FileChange } from './v4a.ts'

/** `before` is undefined for a new file, `after` for one that goes away. Paths are canonical. */
export type Edit = {
  readonly path: string
  readonly before: string | undefined
  readonly after: string | undefined
}

export type Plan = { readonly edits: readonly Edit[] }

/** Files as earlier changes of the same patch leave them. */
type Draft = Map<string, Edit>

export async function plan(backend: ExecutionBackend, changes: readonly FileChange[]): Promise<Plan | ToolResult> {
  const draft: Draft = new Map()
  for (const change of changes) {
    const failure = await enter(backend, draft, change)
    if (failure) return failure
  }
  return { edits: [...draft.values()].filter(({ before, after }) => before !== after) }
}

const nothingWritten = 'Nothing was written.'

async function enter(backend: ExecutionBackend, draft: Draft, change: FileChange): Promise<ToolResult | undefined> {
  const path = backend.resolve(change.path)
  if (change.do === 'add') return add(backend, draft, path, change.content)
  const current = await load(backend, draft, path)
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
  return add(backend, draft, backend.resolve(change.moveTo), result.text)
}

async function add(
  backend: ExecutionBackend,
  draft: Draft,
  path: string,
  content: string,
): Promise<ToolResult | undefined> {
  const known = draft.get(path)
  const taken = known ? known.after !== undefined : (await backend.files.stat(path)) !== undefined
  if (taken) return fail(`${path} exists already: use "*** Update File". ${nothingWritten}`)
  draft.set(path, { path, before: known?.before, after: content })
  return undefined
}

async function load(backend: ExecutionBackend, draft: Draft, path: string): Promise<Edit | ToolResult> {
  const known = draft.get(path)
  if (known?.after !== undefined) return known
  if (known) return fail(`${path} is deleted earlier in this patch. ${nothingWritten}`)
  const file = await readEditable(backend, path)
  return isTextFile(file) ? { path, before: file.text, after: file.text } : file
}
