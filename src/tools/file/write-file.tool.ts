import * as z from 'zod'
import type { ExecutionBackend } from '../../agent/model/backend.ts'
import { defineTool } from '../define-tool.ts'
import { fail } from '../tool-result.ts'
import { isViewOf, looksNumbered } from './lines.ts'
import { answering } from './text.ts'

const input = z.object({ path: z.string().min(1), content: z.string() })

/** Writing the same content again changes nothing, so a crash may repeat it. */
export default defineTool({
  name: 'write_file',
  toolset: 'file',
  description:
    'Write a whole file, replacing what is there; missing directories are made. To change a part of a file use patch.',
  input,
  needs: ['backend'],
  effect: 'keyed',
  risk: () => 'write',
  touches: ({ path }, { backend }) => [backend.resolve(path)],
  run: ({ path, content }, { backend }) =>
    answering(async () => {
      const whole = backend.resolve(path)
      if (looksNumbered(content) && isViewOf(content, await present(backend, whole)))
        return fail('This content has the line numbers of read_file in it. Send the file itself, without "N|".')
      const bytes = new TextEncoder().encode(content)
      const parent = whole.slice(0, whole.lastIndexOf('/')) || '/'
      const dirs_created = (await backend.files.stat(parent)) === undefined
      await backend.files.write(whole, bytes)
      if (!same(bytes, await backend.files.read(whole)))
        return fail(`${path} does not read back as written. Read it before you go on.`, { verified: false })
      const warning = brokenJson(path, content)
      return { bytes_written: bytes.byteLength, dirs_created, verified: true, ...(warning && { warning }) }
    }),
})

const present = async ({ files }: ExecutionBackend, path: string) => new TextDecoder().decode(await files.read(path))

const same = (one: Uint8Array, other: Uint8Array | undefined): boolean =>
  other !== undefined && one.byteLength === other.byteLength && one.every((byte, i) => byte === other[i])

/** The one check that needs no tools: a JSON file that does not parse. */
function brokenJson(path: string, content: string): string | undefined {
  if (!path.endsWith('.json') || content === '') return undefined
  try {
    JSON.parse(content)
    return undefined
  } catch (error) {
    return `Written, but not valid JSON: ${error instanceof Error ? error.message : String(error)}`
  }
}
