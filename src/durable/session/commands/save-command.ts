/** `/save`: writes the conversation to a file of the workspace, which a chat gets. */

import { orUnreachable } from '../core/checkpoints.ts'
import { clock } from '#durable/platform/clock.ts'
import type { Session } from '../session.ts'
import { type CommandHandler, type CommandReply, reply, usageReply } from './command.ts'

const formats = ['md', 'html', 'json'] as const
type SaveFormat = (typeof formats)[number]
const parseFormat = (word: string): SaveFormat | undefined => formats.find((format) => format === word)

/** The file is held in memory. */
const maxBytes = 20_000_000

export const saveCommand: CommandHandler = async (session, { words, authority }) => {
  const given = words.map((word) => word.toLowerCase())
  const [named = 'md', ...others] = given.filter((word) => word !== 'redact')
  const format = parseFormat(named)
  if (!format || others.length) return usageReply('save')
  if (session.store.lastMessageSeq() === 0) return reply('There is no conversation to save.')
  // Others read along in a chat: it gets what was said, without secrets.
  const isForChat = authority.principal.kind === 'person'
  const text = await renderTranscript(session, format, isForChat)
  if (text === undefined) return reply('The conversation is too large for one file. GET …/export streams it.')
  return storeFile(session, format, isForChat || given.includes('redact') ? session.redact(text) : text)
}

/** Undefined for a conversation that is too large. */
async function renderTranscript(session: Session, format: SaveFormat, saidOnly: boolean): Promise<string | undefined> {
  const { exportSession } = await import('../copies/export.ts')
  const options = { format, hasFiles: false, saidOnly }
  const decoder = new TextDecoder()
  let [text, bytes] = ['', 0]
  for await (const chunk of exportSession(session, options, session.outside.env.BLOBS)) {
    bytes += chunk.length
    if (bytes > maxBytes) return undefined
    text += decoder.decode(chunk, { stream: true })
  }
  return text + decoder.decode()
}

async function storeFile(session: Session, format: SaveFormat, text: string): Promise<CommandReply> {
  const time = new Date(clock.now()).toISOString().slice(0, 19).replaceAll(':', '-')
  const path = `exports/conversation-${time}.${format}`
  const { userFiles, resolve } = session.toolRuntime.backend
  const written = await orUnreachable(() => userFiles.write(resolve(path), new TextEncoder().encode(text)))
  if (written && 'unreachable' in written) return reply(written.unreachable)
  return { kind: 'text', text: `Saved: ${path}`, file: path }
}
