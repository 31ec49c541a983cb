/** Reads a text file of the workspace, or returns a failure that names the reason. */

import type { ExecutionBackend } from '#agent/core/backend.ts'
import type { ToolResult } from '#agent/core/tool.ts'
import { decodePlainText } from '#agent/core/plain-text.ts'
import { fail } from '../tool-result.ts'
import { isImageName } from './read-image.ts'
import { findExistingForm, findSimilarFiles } from './similar-files.ts'

/** A zero byte within this length marks a binary file. */
const sniffedBytes = 8192

const hasZero = (bytes: Uint8Array): boolean => bytes.subarray(0, sniffedBytes).includes(0)

export type TextFile = {
  readonly path: string
  readonly text: string
  readonly size: number
  /** Absent: the text was made from another format. */
  readonly bytes?: Uint8Array
  /** A guess, for text that is neither in Unicode nor in the code page of Western Windows. */
  readonly encoding?: string
}

/** For display: what is in no known encoding gets replacement characters. */
export async function readTextFile(backend: ExecutionBackend, requestedPath: string): Promise<TextFile | ToolResult> {
  const file = await readBytes(backend, requestedPath)
  if (!('bytes' in file)) return file
  const { path, bytes } = file
  const text = decodeUtf8(bytes) ?? decodePlainText(bytes)
  const size = bytes.byteLength
  if (text !== undefined && !(hasZero(bytes) && decodePlainText(bytes) === undefined))
    return { path, text, size, bytes }
  const { decodeCodePage } = await import('#agent/core/code-pages.ts')
  const guessed = decodeCodePage(bytes)
  if (guessed) return { path, size, bytes, ...guessed }
  return hasZero(bytes) ? failBinary(requestedPath, bytes) : { path, text: decode(bytes, false), size, bytes }
}

/** For editing: only valid UTF-8 can be written back without changing other bytes. */
export async function readEditableFile(
  backend: ExecutionBackend,
  requestedPath: string,
): Promise<TextFile | ToolResult> {
  const file = await readBytes(backend, requestedPath)
  if (!('bytes' in file)) return file
  const { path, bytes } = file
  if (hasZero(bytes) && decodePlainText(bytes) === undefined) return failBinary(requestedPath, bytes)
  const text = decodeUtf8(bytes)
  if (text !== undefined) return { path, text, size: bytes.byteLength, bytes }
  const advice = 'Convert it in terminal (iconv -f latin1 -t utf-8), or change it there with sed.'
  return fail(`${requestedPath} is not UTF-8, and to write it back would damage it. ${advice}`)
}

/** Keeps a byte order mark. */
function decodeUtf8(bytes: Uint8Array): string | undefined {
  try {
    return decode(bytes, true)
  } catch {
    return undefined
  }
}

const decode = (bytes: Uint8Array, fatal: boolean) => new TextDecoder('utf-8', { fatal, ignoreBOM: true }).decode(bytes)

type FileBytes = { readonly path: string; readonly bytes: Uint8Array }

async function readBytes(backend: ExecutionBackend, requestedPath: string): Promise<FileBytes | ToolResult> {
  const path = await findExistingForm(backend, backend.resolve(requestedPath))
  if (/^\/(dev|proc|sys)(\/|$)/.test(path)) return fail(`${requestedPath} is a device, not a file.`)
  const stat = await backend.files.stat(path)
  if (stat?.type === 'directory')
    return fail(`${requestedPath} is a directory. List it with search_files, target "files" and pattern "*".`)
  const bytes = stat && (await backend.files.read(path))
  if (!bytes) {
    const similar_files = await findSimilarFiles(backend, path)
    const next = similar_files.length > 0 ? 'Did you mean one of similar_files?' : 'Look for it with search_files.'
    return fail(`File not found: ${requestedPath}. ${next}`, { similar_files })
  }
  if (isImageName(path))
    return fail(
      `${requestedPath} is an image, and this model sees none. Use vision_analyze if you have it.`,
      binaryDetails(bytes),
    )
  return { path, bytes }
}

async function failBinary(requestedPath: string, bytes: Uint8Array): Promise<ToolResult> {
  const { explainBinary } = await import('./documents/explain-unread.ts')
  return fail(`${requestedPath}${explainBinary(bytes)}`, binaryDetails(bytes))
}

const binaryDetails = (bytes: Uint8Array) => ({ is_binary: true, file_size: bytes.byteLength })

export const isTextFile = (value: TextFile | ToolResult): value is TextFile => 'path' in value
