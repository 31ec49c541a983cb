/** Writes the files of messages into the workspace, and names them in the messages. */

import { decodeBase64Bytes } from '#agent/core/base64.ts'
import { log } from '#agent/core/log.ts'
import { BackendError } from '#agent/core/backend.ts'
import { detectMediaType } from '#agent/core/media/detect-media-type.ts'
import type { ImagePart, Message, Pdf, TextPart, UnreadFile } from '#agent/core/message.ts'
import type { RequestedOptions } from '#agent/core/turn-options.ts'
import type { Session } from '../session.ts'
import type { FileContents } from './file-contents.ts'
import { blobPrefix } from '#durable/platform/addresses.ts'

/** The path is the same for a repeat of the request. */
export function pathOfFile(runId: string, { name }: Pick<UnreadFile, 'name'>, n: number): string {
  const safe = name
    .normalize('NFC')
    .replace(/[^\p{L}\p{N}._ -]/gu, '_')
    .replace(/^[. ]+/, '')
    .slice(-120)
  return `uploads/${runId.slice(4, 12)}/${n ? `${n + 1}-` : ''}${safe || 'file'}`
}

/** With tools of the client the agent's own tools for files are hidden. One stays, because only it reaches the files. */
export const withFileReader = (options: RequestedOptions, messages: readonly Message[]): RequestedOptions =>
  options.clientTools?.length && messages.some(hasUnread)
    ? { ...options, toolsets: [...(options.toolsets ?? []), 'read_file'] }
    : options

const isUnread = (part: TextPart | ImagePart): part is UnreadPart => part.type === 'text' && part.unread !== undefined
type UnreadPart = TextPart & { readonly unread: UnreadFile }

export const hasUnread = ({ role, content }: Message): boolean => role !== 'assistant' && content.some(isUnread)

/**
 * Writes the files of messages into the workspace, and names them and their contents behind the words. The newest message
 * comes first in the budget of contents.
 */
export async function readFiles<M extends Message>(
  session: Session,
  runId: string,
  messages: readonly M[],
  blobs: R2Bucket | undefined,
): Promise<readonly M[]> {
  if (!messages.some(hasUnread)) return messages
  const { FileContents } = await import('./file-contents.ts')
  const contents = new FileContents(session, blobs)
  const read: M[] = []
  let n = 0
  for (const message of messages.toReversed()) {
    if (message.role === 'assistant' || !hasUnread(message)) {
      read.push(message)
      continue
    }
    const names: TextPart[] = []
    const found: (TextPart | ImagePart)[] = []
    for (const part of message.content.filter(isUnread)) {
      const path = pathOfFile(runId, part.unread, n++)
      const { mediaType, parts, pdf } = await readFile(session, { path, file: part.unread }, { contents, blobs })
      const sent = await contents.keep(part, pdf)
      names.push({ type: 'text', text: `\n[Attached file: ${path} (${mediaType})]`, ...(sent && { sent }) })
      found.push(...parts.map((one) => ({ ...one, sent: 'contents' as const })))
    }
    const words = message.content.filter((part) => !isUnread(part))
    read.push({ ...message, content: [...words, ...names, ...found] })
  }
  return read.toReversed()
}

type GivenFile = { readonly path: string; readonly file: UnreadFile }
type FileReader = { readonly contents: FileContents; readonly blobs: R2Bucket | undefined }
type ReadFile = {
  readonly mediaType: string
  readonly parts: readonly (TextPart | ImagePart)[]
  readonly pdf?: Pdf | undefined
}

/** Writes a file into the workspace, and returns what its message shows of it. */
async function readFile(
  session: Session,
  { path, file }: GivenFile,
  { contents, blobs }: FileReader,
): Promise<ReadFile> {
  const bytes = await readUnread(session.tenantId, file, blobs)
  if (!bytes)
    return { mediaType: file.mediaType, parts: [contents.note(path, ' is not stored any more. Ask for it again.')] }
  const mediaType = typeOfBytes(bytes, file.mediaType)
  const unwritten = await writeIncomingFile(session, path, bytes)
  const rendered = await contents.render({ path, mediaType, bytes })
  const parts = unwritten === undefined ? [rendered] : [rendered, contents.note(path, unwritten)]
  return { mediaType, parts, pdf: rendered.type === 'text' ? rendered.pdf : undefined }
}

/** The bytes decide. Only sound stays sound in a container that also holds films. */
export function typeOfBytes(bytes: Uint8Array, named: string): string {
  const detected = detectMediaType(bytes)?.mime ?? named
  return named.startsWith('audio/') && detected.startsWith('video/') ? named : detected
}

/** Undefined for a file that was written, else words that follow its name. */
export async function writeIncomingFile(
  session: Session,
  path: string,
  bytes: Uint8Array,
): Promise<string | undefined> {
  const { userFiles, resolve } = session.toolRuntime.backend
  try {
    await userFiles.write(resolve(path), bytes)
    return undefined
  } catch (error) {
    if (!(error instanceof BackendError)) throw error
    log.warn('workspace.file_unwritten', 'A file of a message could not be written.', { error })
    return ` is not in the workspace, because it could not be written: ${error.message}`
  }
}

async function readUnread(
  tenantId: string,
  { content }: UnreadFile,
  blobs: R2Bucket | undefined,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  if (content.kind === 'base64') return decodeBase64Bytes(content.data)
  if (!content.key.startsWith(blobPrefix(tenantId))) return undefined
  const object = await blobs?.get(content.key)
  return object ? new Uint8Array(await object.arrayBuffer()) : undefined
}
