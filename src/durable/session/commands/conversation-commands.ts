/** `/new`, `/retry`, `/undo`, `/compress` and `/title`: change the conversation itself. */

import { describeLimit, describeTurns } from './describe.ts'
import { compressNow, type CompressResult } from '../core/compress.ts'
import { startNewConversation } from './new-conversation.ts'
import { importRunId } from '#durable/storage/journal.ts'
import type { Session } from '../session.ts'
import { repeatOptions, undoTurns } from '../core/undo.ts'
import { type CommandCall, type CommandReply, reply, type CommandHandler, usageReply } from './command.ts'

export const newCommand: CommandHandler = async (session, { text }) => {
  await startNewConversation(session, { title: text.slice(0, maxTitleChars) || null })
  return reply('A new conversation begins. The earlier one stays in the history and can be searched.')
}

export const retryCommand: CommandHandler = (session, call) => retryLast(session, call)

function retryLast(session: Session, { authority }: CommandCall): CommandReply {
  const [last] = undoneBy(session, 1)
  if (!last) return reply('There is no message to repeat.')
  return {
    kind: 'turn',
    compose: () => {
      const [undone] = undoTurns(session, 1).turns
      return undone && { message: undone.message, options: repeatOptions(session, undone.options, authority) }
    },
  }
}

export const undoCommand: CommandHandler = (session, { text }) => {
  const n = text ? Number(text) : 1
  if (!Number.isInteger(n) || n < 1 || n > maxUndone) return usageReply('undo')
  const last = session.store.current()?.id
  const { turns } = undoTurns(session, n)
  if (!turns.length) return reply('There is nothing to undo.')
  if (last !== undefined) session.runInBackground(session.chatOutbox.withdraw(last))
  const texts = turns.map((turn) => `> ${shorten(turn.text).replaceAll('\n', '\n> ')}`)
  return reply(`Undone: ${describeTurns(turns.length)}.\n\n${texts.join('\n\n')}`)
}

export const compressCommand: CommandHandler = async (session, { authority: by, text, words }) => {
  const [here, turns = '1'] = words
  if (here?.toLowerCase() !== 'here' || words.length > 2)
    return reply(
      describeCompression(await compressNow(session, { by, focus: text.slice(0, maxFocusChars) || undefined })),
    )
  if (!/^[1-9]\d{0,2}$/.test(turns)) return usageReply('compress')
  return reply(describeCompression(await compressNow(session, { by, keepTurns: Number(turns) })))
}

function describeCompression(result: CompressResult): string {
  switch (result.kind) {
    case 'requested':
      return 'The context is compressed before the next model call.'
    case 'nothing':
      return 'There is nothing to compress.'
    case 'busy':
      return 'The conversation goes on meanwhile. Try again when no turn runs.'
    case 'limit-reached':
      return describeLimit(result.limit)
    case 'failed':
      return `The context was not compressed: ${result.reason}.`
    case 'done':
      return `Compressed: about ${result.before} tokens before, ${result.after} now.`
  }
}

export const titleCommand: CommandHandler = (session, { text }) => {
  if (!text) return reply(session.meta.title ?? 'The conversation has no title.')
  if (text.length > maxTitleChars) return reply(`A title has at most ${maxTitleChars} characters.`)
  session.updateMeta({ title: text, oneShot: undefined })
  session.runInBackground(session.turns.project())
  return reply(`The title is now: ${text}`)
}

/** The same as in the API. */
const maxTitleChars = 100
const maxFocusChars = 2_000
const maxUndone = 100
const maxShownChars = 300

const shorten = (text: string): string => (text.length > maxShownChars ? `${text.slice(0, maxShownChars)}…` : text)

/** The runs that an undo would remove, newest first. */
function undoneBy({ journal, meta }: Session, n: number): readonly string[] {
  const { earlierThrough = 0 } = meta
  const runs = new Set(
    journal
      .listRows()
      .filter(({ n: row }) => row > earlierThrough)
      .map(({ run }) => run),
  )
  return [...runs]
    .filter((run) => run !== importRunId)
    .slice(-n)
    .toReversed()
}
