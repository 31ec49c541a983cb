/** Builds the requests that send messages and files to Telegram. */

import type { MessageChunk, TextSpan } from '#agent/core/delivery.ts'
import type { ChatAddress, OutboundFile, OutboundMessage } from '../channel.ts'

/** Larger images are sent as documents. */
const maxPhotoBytes = 10_000_000

export const addressFields = ({ chat, thread }: ChatAddress) => ({
  chat_id: Number(chat),
  ...(thread !== undefined && { message_thread_id: Number(thread) }),
})

export function messageFields(message: OutboundMessage): object {
  const { address, chunk, editedMessageId } = message
  const { buttons } = chunk
  const content = {
    text: chunk.text,
    ...(chunk.spans.length > 0 && { entities: chunk.spans.map(entityOf) }),
    // A preview makes Telegram fetch the address, which could leak what the conversation contains.
    link_preview_options: { is_disabled: true },
    ...(buttons && { reply_markup: { inline_keyboard: keyboardOf(buttons) } }),
  }
  if (editedMessageId !== undefined)
    return { chat_id: Number(address.chat), message_id: Number(editedMessageId), ...content }
  return { ...addressFields(address), ...content, ...replyFields(message) }
}

const replyFields = ({ replyToMessageId }: OutboundMessage) =>
  replyToMessageId !== undefined && {
    reply_parameters: { message_id: Number(replyToMessageId), allow_sending_without_reply: true },
  }

const methods = {
  photo: 'sendPhoto',
  voice: 'sendVoice',
  audio: 'sendAudio',
  video: 'sendVideo',
  document: 'sendDocument',
} as const

/** Telegram shows only some formats natively; every other file is a document. */
function renderField({ kind, mime, bytes }: OutboundFile): keyof typeof methods {
  if (kind === 'image' && /^image\/(jpeg|png|webp)$/.test(mime) && bytes.length <= maxPhotoBytes) return 'photo'
  if (kind === 'voice' && /^audio\/(ogg|mpeg|mp4|x-m4a)/.test(mime)) return 'voice'
  if (kind === 'audio' && /^audio\/(mpeg|mp4|x-m4a)/.test(mime)) return 'audio'
  return kind === 'video' && mime === 'video/mp4' ? 'video' : 'document'
}

export function fileForm(message: OutboundMessage, file: OutboundFile) {
  const field = renderField(file)
  const form = new FormData()
  for (const [name, value] of Object.entries({ ...addressFields(message.address), ...replyFields(message) }))
    form.set(name, typeof value === 'object' ? JSON.stringify(value) : String(value))
  // The text of a file is the note that it may have arrived before.
  const caption = message.chunk.text.trim()
  if (caption) form.set('caption', caption)
  form.set(field, new File([file.bytes], file.name, { type: file.mime }))
  return { method: methods[field], form }
}

const keyboardOf = (buttons: NonNullable<MessageChunk['buttons']>) =>
  buttons.map((row) => row.map(({ label, data }) => ({ text: label, callback_data: data })))

const entityTypes: Readonly<Record<TextSpan['type'], string>> = {
  bold: 'bold',
  italic: 'italic',
  underline: 'underline',
  strikethrough: 'strikethrough',
  spoiler: 'spoiler',
  code: 'code',
  pre: 'pre',
  link: 'text_link',
  quote: 'blockquote',
}

const entityOf = ({ type, ...rest }: TextSpan) => ({ type: entityTypes[type], ...rest })
