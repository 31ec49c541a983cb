/** The shapes of what Telegram's Bot API sends. */

import * as z from 'zod'

export const id = z.int().transform(String)
export const user = z.object({
  id,
  is_bot: z.boolean(),
  first_name: z.string().default(''),
  last_name: z.string().optional(),
  username: z.string().optional(),
})
export const chat = z.object({ id, type: z.enum(['private', 'group', 'supergroup', 'channel']) })
const entity = z.object({
  type: z.string(),
  offset: z.int(),
  length: z.int(),
  user: z.object({ id }).optional(),
  url: z.string().max(4_096).optional().catch(undefined),
})
/** A wrong entity does not hide the message. */
const entityList = z.array(entity).optional().catch(undefined)
const file = z.object({
  file_id: z.string().max(1_000),
  file_name: z.string().max(1_000).optional(),
  mime_type: z.string().max(200).optional(),
  file_size: z.number().optional(),
})
/** The files of a message. A wrong one does not hide the message. */
const fileFields = {
  photo: z.array(file).optional().catch(undefined),
  document: file.optional().catch(undefined),
  voice: file.optional().catch(undefined),
  audio: file.optional().catch(undefined),
  video: file.optional().catch(undefined),
  video_note: file.optional().catch(undefined),
}
const point = z.object({ latitude: z.number(), longitude: z.number() })
const named = z.object({ title: z.string().optional() })
/** The origin of a forwarded message. */
const origin = z.object({
  sender_user: user.optional(),
  sender_user_name: z.string().optional(),
  sender_chat: named.optional(),
  chat: named.optional(),
})
const place = { chat, message_thread_id: z.int().optional(), is_topic_message: z.boolean().optional() }
/** Content that a message has, or one that it replies to. A wrong part does not hide the message. */
const contentFields = {
  ...fileFields,
  animation: file.optional().catch(undefined),
  sticker: z.object({ emoji: z.string().optional() }).optional().catch(undefined),
  location: point.optional().catch(undefined),
  venue: z.object({ location: point, title: z.string(), address: z.string() }).optional().catch(undefined),
  poll: z
    .object({ question: z.string(), options: z.array(z.object({ text: z.string() })) })
    .optional()
    .catch(undefined),
  dice: z.object({ emoji: z.string(), value: z.int() }).optional().catch(undefined),
  contact: z.object({ phone_number: z.string(), first_name: z.string() }).optional().catch(undefined),
  game: z.object({ title: z.string(), description: z.string().optional() }).optional().catch(undefined),
  invoice: z.object({ title: z.string(), description: z.string().optional() }).optional().catch(undefined),
  checklist: z
    .object({ title: z.string(), tasks: z.array(z.object({ text: z.string() })) })
    .optional()
    .catch(undefined),
  story: z.unknown().optional(),
  paid_media: z.unknown().optional(),
  giveaway: z.unknown().optional(),
}
const writtenFields = {
  text: z.string().optional(),
  caption: z.string().optional(),
  entities: entityList,
  caption_entities: entityList,
}
export const message = z.object({
  message_id: id,
  ...place,
  from: user.optional(),
  ...writtenFields,
  ...contentFields,
  forward_origin: origin.optional().catch(undefined),
  reply_to_message: z
    .object({ message_id: id, from: user.optional(), ...writtenFields, ...contentFields })
    .optional()
    .catch(undefined),
  /** The message of another chat to which this one replies. Its text is not included, apart from the quote. */
  external_reply: z
    .object({ origin, ...contentFields })
    .optional()
    .catch(undefined),
  reply_to_story: z.unknown().optional(),
  /** The part of the message that the person has marked. */
  quote: z.object({ text: z.string(), entities: entityList }).optional().catch(undefined),
  media_group_id: z.string().optional(),
  migrate_to_chat_id: id.optional(),
  migrate_from_chat_id: id.optional(),
})
export type TelegramMessage = z.infer<typeof message>
const member = z.object({ chat, from: user, new_chat_member: z.object({ status: z.string() }) })
const press = z.object({
  id: z.string(),
  from: user,
  message: z.object({ message_id: id, ...place }).optional(),
  data: z.string().optional(),
})
export const update = z.object({
  update_id: id,
  message: message.optional(),
  edited_message: message.optional(),
  callback_query: press.optional(),
  my_chat_member: member.optional(),
})

export type TelegramUser = z.infer<typeof user>
export type TelegramEntity = z.infer<typeof entity>
export type TelegramFile = z.infer<typeof file>
export type TelegramPress = z.infer<typeof press>
export type TelegramMember = z.infer<typeof member>
export type TelegramOrigin = z.infer<typeof origin>
export type FileField = keyof typeof fileFields
/** Content of a message, without its text. */
export type TelegramContent = Pick<TelegramMessage, keyof typeof contentFields>
