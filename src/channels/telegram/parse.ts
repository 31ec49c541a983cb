/** An update of Telegram's Bot API, as far as it is our business. */

import * as z from 'zod'
import type { Heard } from '../channel.ts'

const id = z.int().transform(String)
const user = z.object({
  id,
  is_bot: z.boolean(),
  first_name: z.string().default(''),
  last_name: z.string().optional(),
  username: z.string().optional(),
})
const chat = z.object({ id, type: z.enum(['private', 'group', 'supergroup', 'channel']) })
const entity = z.object({
  type: z.string(),
  offset: z.int(),
  length: z.int(),
  user: z.object({ id }).optional(),
})
const message = z.object({
  message_id: id,
  message_thread_id: z.int().optional(),
  is_topic_message: z.boolean().optional(),
  chat,
  from: user.optional(),
  text: z.string().optional(),
  caption: z.string().optional(),
  entities: z.array(entity).optional(),
  caption_entities: z.array(entity).optional(),
  reply_to_message: z.object({ from: z.object({ id }).optional() }).optional(),
  photo: z.unknown().optional(),
  document: z.unknown().optional(),
  voice: z.unknown().optional(),
  audio: z.unknown().optional(),
  video: z.unknown().optional(),
  video_note: z.unknown().optional(),
  sticker: z.unknown().optional(),
  location: z.unknown().optional(),
})
type Message = z.infer<typeof message>
const update = z.object({
  update_id: id,
  message: message.optional(),
  callback_query: z
    .object({
      id: z.string(),
      from: user,
      message: z
        .object({
          message_id: id,
          chat,
          message_thread_id: z.int().optional(),
          is_topic_message: z.boolean().optional(),
        })
        .optional(),
      data: z.string().optional(),
    })
    .optional(),
})

const attached = ['photo', 'document', 'voice', 'audio', 'video', 'video_note', 'sticker', 'location'] as const

/** Edits, posts of channels, other bots (and ourselves) and everything unknown are none of our business. */
export function parse(body: unknown): Heard | undefined {
  const read = update.safeParse(body)
  if (!read.success) return undefined
  const { update_id: key, message: said, callback_query: pressed } = read.data
  if (said) return heardIn(key, said)
  if (!pressed?.message || pressed.data === undefined || pressed.from.is_bot) return undefined
  const where = placeOf(pressed.message)
  return {
    ...where,
    of: 'press',
    key,
    person: personOf(pressed.from),
    press: pressed.id,
    message: pressed.message.message_id,
    data: pressed.data,
  }
}

function heardIn(key: string, said: Message): Heard | undefined {
  if (!said.from || said.from.is_bot || said.chat.type === 'channel') return undefined
  const text = wordsOf(said)
  if (!text.trim()) return undefined
  const repliesTo = said.reply_to_message?.from?.id
  return {
    ...placeOf(said),
    of: 'message',
    key,
    person: personOf(said.from),
    message: said.message_id,
    text,
    mentions: mentionsIn(said),
    ...(repliesTo !== undefined && { repliesTo }),
  }
}

/** What is attached cannot be read yet; who answers should know that something was. */
function wordsOf(said: Message): string {
  const words = said.text ?? said.caption ?? ''
  const what = attached.filter((kind) => said[kind] !== undefined)
  if (!what.length) return words
  const note = `[attached, and not readable here: ${what.map((kind) => kind.replace('_', ' ')).join(', ')}]`
  return words ? `${words}\n${note}` : note
}

type Placed = Pick<Message, 'chat' | 'message_thread_id' | 'is_topic_message'>

/** A reply in a group without topics has a thread too; only topics are places. The general topic is 1 and has no name. */
function placeOf({ chat: where, message_thread_id: thread, is_topic_message: isTopic }: Placed) {
  const isNamed = isTopic === true && thread !== undefined && thread !== 1
  return {
    place: { chat: where.id, ...(isNamed && { thread: String(thread) }) },
    isGroup: where.type !== 'private',
  }
}

const personOf = ({ id: person, first_name: first, last_name: last, username }: z.infer<typeof user>) => ({
  id: person,
  name: [first, last].filter(Boolean).join(' ') || username || person,
})

/** `@name`, `/command@name`, and people without a name who are meant. */
function mentionsIn({ text, caption, entities, caption_entities: inCaption }: Message): string[] {
  const words = text ?? caption ?? ''
  return (text === undefined ? (inCaption ?? []) : (entities ?? [])).flatMap(
    ({ type, offset, length, user: meant }) => {
      if (type === 'text_mention' && meant) return [meant.id]
      if (type !== 'mention' && type !== 'bot_command') return []
      const [, name] = words.slice(offset, offset + length).split('@')
      return name ? [name.toLowerCase()] : []
    },
  )
}
