/** Writes the files of a message into the workspace, and names them in the message. */

import { decodeBase64Bytes } from '#agent/core/base64.ts'
import { log } from '#agent/core/log.ts'
import { BackendError } from '#agent/core/backend.ts'
import type { TextPart, UserMessage } from '#agent/core/message.ts'
import type { RequestedOptions } from '#agent/core/turn-options.ts'
import type { Session } from '../session.ts'
import { blobPrefix } from '#durable/platform/addresses.ts'

export type IncomingFile = {
  readonly name: string
  readonly mediaType: string
  readonly content:
    | { readonly kind: 'base64'; readonly data: string }
    /** A key in R2, of the same tenant. */
    | { readonly kind: 'stored'; readonly key: string }
}

/** The path is the same for a repeat of the request. */
export function pathOfFile(runId: string, { name }: Pick<IncomingFile, 'name'>, n: number): string {
  const safe = name
    .normalize('NFC')
    .replace(/[^\p{L}\p{N}._ -]/gu, '_')
    .replace(/^[. ]+/, '')
    .slice(-120)
  return `uploads/${runId.slice(4, 12)}/${n ? `${n + 1}-` : ''}${safe || 'file'}`
}

export const withFileNames = (message: UserMessage, runId: string, files: readonly IncomingFile[]): UserMessage =>
  files.length
    ? { ...message, content: [...message.content, { type: 'text', text: renderFileNames(runId, files) }] }
    : message

const renderFileNames = (runId: string, files: readonly IncomingFile[]): string =>
  files.map((file, n) => `\n[Attached file: ${pathOfFile(runId, file, n)} (${file.mediaType})]`).join('')

/** With tools of the client the agent's own tools for files are hidden. One stays, because only it reaches the files. */
export const withFileReader = (options: RequestedOptions, files: readonly IncomingFile[]): RequestedOptions =>
  files.length && options.clientTools?.length
    ? { ...options, toolsets: [...(options.toolsets ?? []), 'read_file'] }
    : options

/** Writes the files of a request, one after another, and returns what they contain. */
export async function placeIncomingFiles(
  session: Session,
  runId: string,
  files: readonly IncomingFile[],
  blobs: R2Bucket | undefined,
): Promise<readonly TextPart[]> {
  const { FileContents } = await import('./file-contents.ts')
  const { joinTexts } = await import('#durable/workspace/pdfs.ts')
  const contents = new FileContents(session, blobs)
  const parts: TextPart[] = []
  for (const [n, file] of files.entries()) {
    const bytes = await readIncoming(session.tenantId, file, blobs)
    if (!bytes) continue
    const path = pathOfFile(runId, file, n)
    await writeIncomingFiles(session, [{ path, bytes }])
    const part = await contents.render({ path, mediaType: file.mediaType, bytes })
    if (part) parts.push(part)
  }
  return joinTexts(parts)
}

/** A file that cannot be written is logged; the agent finds it missing. */
export async function writeIncomingFiles(
  session: Session,
  files: readonly { readonly path: string; readonly bytes: Uint8Array }[],
): Promise<void> {
  const { userFiles, resolve } = session.toolRuntime.backend
  for (const { path, bytes } of files) {
    try {
      await userFiles.write(resolve(path), bytes)
    } catch (error) {
      if (!(error instanceof BackendError)) throw error
      log.warn('workspace.file_unwritten', 'A file of a message could not be written.', { error })
    }
  }
}

async function readIncoming(
  tenantId: string,
  { content }: IncomingFile,
  blobs: R2Bucket | undefined,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  if (content.kind === 'base64') return decodeBase64Bytes(content.data)
  if (!content.key.startsWith(blobPrefix(tenantId))) return undefined
  const object = await blobs?.get(content.key)
  return object ? new Uint8Array(await object.arrayBuffer()) : undefined
}
