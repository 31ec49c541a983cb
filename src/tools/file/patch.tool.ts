import * as z from 'zod'
import type { ExecutionBackend } from '../../agent/model/backend.ts'
import type { ToolResult } from '../../agent/model/tool.ts'
import { plainAssessment } from '../../agent/policy/approval.ts'
import { defineTool } from '../define-tool.ts'
import { fail } from '../tool-result.ts'
import { type Edit, plan } from './patch/plan.ts'
import { replace } from './patch/replace.ts'
import { unified } from './patch/unified.ts'
import { parsePatch, pathsIn } from './patch/v4a.ts'
import { answering, isTextFile, readEditable } from './text.ts'

const input = z.object({
  mode: z.enum(['replace', 'patch']),
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
  assess: (wanted, { backend }) =>
    plainAssessment(
      'write',
      pathsOf(wanted).flatMap((path) => [path, backend.resolve(path)]),
    ),
  touches: (wanted, { backend }) => pathsOf(wanted).map((path) => backend.resolve(path)),
  run: (wanted, { backend }) =>
    answering(() => (wanted.mode === 'replace' ? replaceOne(backend, wanted) : applyPatch(backend, wanted.patch))),
})

const pathsOf = ({ mode, path = '', patch = '' }: Input) => (mode === 'replace' ? [path] : pathsIn(patch))

async function replaceOne(backend: ExecutionBackend, { path, old_string, new_string, replace_all }: Input) {
  if (path === undefined || old_string === undefined || new_string === undefined)
    return fail('mode "replace" needs path, old_string and new_string.')
  if (old_string === '') return fail('old_string is empty. Use write_file to write a whole file.')
  const file = await readEditable(backend, path)
  if (!isTextFile(file)) return file
  if (old_string === new_string) return unchanged('old_string and new_string are the same.')
  const result = replace(file.text, { from: old_string, to: new_string, all: replace_all })
  if ('error' in result) return fail(result.error, result.locations ? { locations: result.locations } : {})
  if (result.text === file.text) return unchanged('The file reads like this already.')
  const note = result.strategy === 'exact' ? undefined : `Matched by ${result.strategy}: check the diff.`
  return write(backend, [{ path: file.path, before: file.text, after: result.text }], note)
}

async function applyPatch(backend: ExecutionBackend, patch: string | undefined) {
  if (patch === undefined) return fail('mode "patch" needs patch.')
  const changes = parsePatch(patch)
  if (typeof changes === 'string') return fail(changes)
  const planned = await plan(backend, changes)
  if (!('edits' in planned)) return planned
  return planned.edits.length === 0 ? unchanged('The files read like this already.') : write(backend, planned.edits)
}

const unchanged = (note: string) => ({ success: true, no_change: true, diff: '', files_modified: [], note })

const put = ({ files }: ExecutionBackend, path: string, text: string | undefined): Promise<unknown> =>
  text === undefined ? files.remove(path) : files.write(path, new TextEncoder().encode(text))

/** All of them or none: when one cannot be written, those before it are put back. */
async function writeAll(backend: ExecutionBackend, edits: readonly Edit[]): Promise<void> {
  const done: Edit[] = []
  try {
    for (const edit of edits) {
      await put(backend, edit.path, edit.after)
      done.unshift(edit)
    }
  } catch (error) {
    for (const { path, before } of done) await put(backend, path, before)
    throw error
  }
}

type Written = Readonly<Record<string, unknown>> | ToolResult

async function write(backend: ExecutionBackend, edits: readonly Edit[], note?: string): Promise<Written> {
  await writeAll(backend, edits)
  const paths = (wanted: (edit: Edit) => boolean): string[] => edits.filter(wanted).map(({ path }) => path)
  const created = paths(({ before }) => before === undefined)
  const deleted = paths(({ after }) => after === undefined)
  return {
    success: true,
    diff: edits.map(unified).join(''),
    files_modified: paths(({ before, after }) => before !== undefined && after !== undefined),
    ...(created.length > 0 && { files_created: created }),
    ...(deleted.length > 0 && { files_deleted: deleted }),
    ...(note !== undefined && { note }),
  }
}
