/** Writes the files of messages into the workspace, and names them in the messages. */

import { decodeBase64Bytes } from '#agent/core/base64.ts'
import { log } from '#agent/core/log.ts'
import { BackendError } from '#agent/core/backend.ts'
import type { ImagePart, Message, TextPart, UnreadFile } from '#agent/core/message.ts'
import type { RequestedOptions } from '#agent/core/turn-options.ts'
import type { Session } from '../session.ts'
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
    const texts: TextPart[] = []
    for (const part of message.content.filter(isUnread)) {
      const file = await placeFile(session, { runId, n: n++, file: part.unread }, blobs)
      const text = file.bytes && (await contents.render({ ...file, bytes: file.bytes }))
      const sent = await contents.keep(part, text?.pdf)
      names.push({ type: 'text', text: `\n[Attached file: ${file.path} (${file.mediaType})]`, ...(sent && { sent }) })
      if (text) texts.push({ ...text, sent: 'contents' })
    }
    const words = message.content.filter((part) => !isUnread(part))
    read.push({ ...message, content: [...words, ...names, ...texts] })
  }
  return read.toReversed()
}

type PlacedFile = { readonly runId: string; readonly n: number; readonly file: UnreadFile }

async function placeFile(session: Session, { runId, n, file }: PlacedFile, blobs: R2Bucket | undefined) {
  const bytes = await readUnread(session.tenantId, file, blobs)
  const path = pathOfFile(runId, file, n)
  if (bytes) await writeIncomingFiles(session, [{ path, bytes }])
  return { path, mediaType: file.mediaType, bytes }
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
