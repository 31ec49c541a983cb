/** Writes a whole file. Writing the same content again changes nothing, so a call may run again after a crash. */

import * as z from 'zod'
import type { ExecutionBackend } from '#agent/core/backend.ts'
import { assessWrites } from '../assess-paths.ts'
import { defineTool } from '../define-tool.ts'
import { fail } from '../tool-result.ts'
import { isNumberedCopyOf, hasLineNumbers } from './numbered-lines.ts'
import { failOnBackendError } from '../fail-on-backend-error.ts'

const input = z.object({ path: z.string().min(1), content: z.string() })

export default defineTool({
  name: 'write_file',
  toolset: 'file',
  description:
    'Write a whole file, replacing what is there; missing directories are made. To change a part of a file use patch.',
  input,
  needs: ['backend'],
  effect: 'keyed',
  risk: () => 'write',
  assess: ({ path }, { backend }) => assessWrites([path], backend),
  touches: ({ path }, { backend }) => [backend.resolve(path)],
  run: ({ path, content }, { backend }) =>
    failOnBackendError(async () => {
      const absolutePath = backend.resolve(path)
      if (hasLineNumbers(content) && isNumberedCopyOf(content, await readCurrentText(backend, absolutePath)))
        return fail('This content has the line numbers of read_file in it. Send the file itself, without "N|".')
      const bytes = new TextEncoder().encode(content)
      const parent = absolutePath.slice(0, absolutePath.lastIndexOf('/')) || '/'
      const dirs_created = (await backend.files.stat(parent)) === undefined
      await backend.files.write(absolutePath, bytes)
      if (!hasSameBytes(bytes, await backend.files.read(absolutePath)))
        return fail(`${path} does not read back as written. Read it before you go on.`, { verified: false })
      const warning = findJsonError(path, content)
      return { bytes_written: bytes.byteLength, dirs_created, verified: true, ...(warning && { warning }) }
    }),
})

const readCurrentText = async ({ files }: ExecutionBackend, path: string) =>
  new TextDecoder().decode(await files.read(path))

const hasSameBytes = (one: Uint8Array, other: Uint8Array | undefined): boolean =>
  other !== undefined && one.byteLength === other.byteLength && one.every((byte, i) => byte === other[i])

/** Only JSON is checked, because other formats would need a parser. */
function findJsonError(path: string, content: string): string | undefined {
  if (!path.endsWith('.json') || content === '') return undefined
  try {
    JSON.parse(content)
    return undefined
  } catch (error) {
    return `Written, but not valid JSON: ${error instanceof Error ? error.message : String(error)}`
  }
}
