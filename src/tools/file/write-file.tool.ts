/** Writes a whole file. Writing the same content again changes nothing, so a call may run again after a crash. */

import * as z from 'zod'
import { assessWrites } from '../assess-paths.ts'
import { defineTool } from '../define-tool.ts'
import { fail } from '../tool-result.ts'
import { cutLine, isNumberedCopyOf, hasLineNumbers, removeLineNumbers } from './numbered-lines.ts'
import { byteOrderMark, removeByteOrderMark } from './patch/byte-order-mark.ts'
import { describeForeignChange, unclearChange } from './foreign-change.ts'
import { findExistingForm } from './similar-files.ts'
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
      const absolutePath = await findExistingForm(backend, backend.resolve(path))
      const before = await backend.files.read(absolutePath)
      const current = decodeText(before)
      if (cutLine.test(content) && !cutLine.test(current))
        return fail('This content has a line that was cut when it was read. Change the file with patch instead.')
      const { text, notes } = fitToFile(content, current)
      const bytes = new TextEncoder().encode(text)
      const change = hasSameBytes(bytes, before) ? 'same' : await backend.known?.compare(absolutePath, before)
      if (change === 'changed') return fail(describeForeignChange(path), { changed_since_read: true })
      const parent = absolutePath.slice(0, absolutePath.lastIndexOf('/')) || '/'
      const dirs_created = (await backend.files.stat(parent)) === undefined
      await backend.files.write(absolutePath, bytes)
      if (!hasSameBytes(bytes, await backend.files.read(absolutePath)))
        return fail(`${path} does not read back as written. Read it before you go on.`, { verified: false })
      const warning = findJsonError(path, text)
      await backend.known?.see(absolutePath, bytes)
      const note = [...notes, ...(change === 'unclear' ? [unclearChange] : [])].join(' ')
      return {
        bytes_written: bytes.byteLength,
        dirs_created,
        verified: true,
        ...(warning && { warning }),
        ...(note && { note }),
      }
    }),
})

type Fitted = { readonly text: string; readonly notes: readonly string[] }

/** Models copy the line numbers of read_file, and write plain newlines into files with Windows line ends. */
function fitToFile(content: string, current: string): Fitted {
  const isNumbered = hasLineNumbers(content) && isNumberedCopyOf(content, current)
  const text = isNumbered ? withLastNewline(removeLineNumbers(content), current) : content
  const shouldConvert = hasWindowsLineEnds(current) && text.includes('\n') && !text.includes('\r')
  return {
    text: withMark(shouldConvert ? text.replaceAll('\n', '\r\n') : text, current),
    notes: [
      ...(isNumbered ? ['The line numbers of read_file were removed.'] : []),
      ...(shouldConvert ? ['Written with Windows line ends, as the file has them.'] : []),
    ],
  }
}

/** The last newline of a file has no line of its own when it is read. */
const withLastNewline = (text: string, current: string): string =>
  current.endsWith('\n') && !text.endsWith('\n') ? `${text}\n` : text

const withMark = (text: string, current: string): string =>
  current.startsWith(byteOrderMark) && text !== '' ? byteOrderMark + removeByteOrderMark(text) : text

/** Every line ends with `\\r\\n`. */
const hasWindowsLineEnds = (text: string): boolean => text.includes('\r\n') && !/(?:^|[^\r])\n/.test(text)

const decodeText = (bytes: Uint8Array | undefined) =>
  new TextDecoder('utf-8', { fatal: false, ignoreBOM: true }).decode(bytes)

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
