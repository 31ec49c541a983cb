/** Writes the files of messages into the workspace, and names them in the messages. */

import type { ImagePart, Message, TextPart, UnreadFile } from '#agent/core/message.ts'
import type { RequestedOptions } from '#agent/core/turn-options.ts'
import type { Session } from '../session.ts'

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
  const { FileContents, markFiles } = await import('./file-contents.ts')
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
      const { mediaType, parts, pdf } = await contents.read(path, part.unread)
      const sent = await contents.keep(part, pdf)
      names.push({ type: 'text', text: `\n[Attached file: ${path} (${mediaType})]`, ...(sent && { sent }) })
      found.push(...parts.map((one) => ({ ...one, sent: 'contents' as const })))
    }
    const words = message.content.filter((part) => !isUnread(part))
    read.push({ ...message, ...markFiles(message), content: [...words, ...names, ...found] })
  }
  return read.toReversed()
}
