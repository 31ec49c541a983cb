/** Parses updates of Telegram's Bot API into inbound events. */

import * as z from 'zod'
import type { InboundEvent } from '../channel.ts'

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

const attachments = ['photo', 'document', 'voice', 'audio', 'video', 'video_note', 'sticker', 'location'] as const

/** Returns undefined for edits, channel posts, messages of bots (this one included) and unknown updates. */
export function parseUpdate(body: unknown): InboundEvent | undefined {
  const parsed = update.safeParse(body)
  if (!parsed.success) return undefined
  const { update_id: key, message: sent, callback_query: pressed } = parsed.data
  if (sent) return parseMessage(key, sent)
  if (!pressed?.message || pressed.data === undefined || pressed.from.is_bot) return undefined
  return {
    ...chatOf(pressed.message),
    kind: 'press',
    key,
    sender: senderOf(pressed.from),
    pressId: pressed.id,
    messageId: pressed.message.message_id,
    data: pressed.data,
  }
}

function parseMessage(key: string, sent: Message): InboundEvent | undefined {
  if (!sent.from || sent.from.is_bot || sent.chat.type === 'channel') return undefined
  const text = textOf(sent)
  if (!text.trim()) return undefined
  const repliesToSender = sent.reply_to_message?.from?.id
  return {
    ...chatOf(sent),
    kind: 'message',
    key,
    sender: senderOf(sent.from),
    messageId: sent.message_id,
    text,
    mentions: mentionsIn(sent),
    ...(repliesToSender !== undefined && { repliesToSender }),
  }
}

/** Attachments cannot be read yet; a note in the text names them to the model. */
function textOf(sent: Message): string {
  const text = sent.text ?? sent.caption ?? ''
  const present = attachments.filter((kind) => sent[kind] !== undefined)
  if (!present.length) return text
  const note = `[attached, and not readable here: ${present.map((kind) => kind.replace('_', ' ')).join(', ')}]`
  return text ? `${text}\n${note}` : note
}

type InChat = Pick<Message, 'chat' | 'message_thread_id' | 'is_topic_message'>

/**
 * Only topics count as threads: replies in a group without topics carry a thread id too. The general topic has id 1,
 * which `sendMessage` does not accept.
 */
function chatOf({ chat: { id: chatId, type }, message_thread_id: thread, is_topic_message: isTopic }: InChat) {
  const isNamedTopic = isTopic === true && thread !== undefined && thread !== 1
  return {
    address: { chat: chatId, ...(isNamedTopic && { thread: String(thread) }) },
    isGroup: type !== 'private',
  }
}

const senderOf = ({ id: sender, first_name: first, last_name: last, username }: z.infer<typeof user>) => ({
  id: sender,
  name: [first, last].filter(Boolean).join(' ') || username || sender,
})

/** Finds `@name`, `/command@name`, and mentions of users without a user name. */
function mentionsIn({ text, caption, entities, caption_entities: captionEntities }: Message): string[] {
  const source = text ?? caption ?? ''
  return (text === undefined ? (captionEntities ?? []) : (entities ?? [])).flatMap(
    ({ type, offset, length, user: mentioned }) => {
      if (type === 'text_mention' && mentioned) return [mentioned.id]
      if (type !== 'mention' && type !== 'bot_command') return []
      const [, name] = source.slice(offset, offset + length).split('@')
      return name ? [name.toLowerCase()] : []
    },
  )
}
