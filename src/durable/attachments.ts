/**
 * Images that people send. What is large goes to R2 at the door and is named in the message; right
 * before a model call it is fetched and put in its place.
 */

import type { ImagePart, Message, UserMessage } from '../agent/model/message.ts'

/** Characters of base64 kept in the message itself. */
const inline = 8 * 1024
const stored = 'blob:'

export async function storeImages(
  message: UserMessage,
  blobs: R2Bucket | undefined,
  prefix: string,
): Promise<UserMessage> {
  if (!blobs || !message.content.some(isLarge)) return message
  const content = await Promise.all(
    message.content.map(async (part) => {
      if (!isLarge(part)) return part
      const key = `${prefix}${crypto.randomUUID()}`
      await blobs.put(key, part.data)
      return { ...part, data: stored + key }
    }),
  )
  return { ...message, content }
}

const isLarge = (part: UserMessage['content'][number]): part is ImagePart =>
  part.type === 'image' && !part.mediaType.endsWith(';url') && part.data.length > inline

/** The message as it was sent, kept as one object, so that its rendering is cached with it. */
const whole = new WeakMap<Message, Message>()

export async function withImages(
  messages: readonly Message[],
  blobs: R2Bucket | undefined,
): Promise<readonly Message[]> {
  if (!messages.some(hasStored)) return messages
  return Promise.all(messages.map((message) => (hasStored(message) ? loaded(message, blobs) : message)))
}

const hasStored = (message: Message): boolean =>
  message.role === 'user' && message.content.some((part) => part.type === 'image' && part.data.startsWith(stored))

async function loaded(message: Message, blobs: R2Bucket | undefined): Promise<Message> {
  const known = whole.get(message)
  if (known || message.role !== 'user') return known ?? message
  const content = await Promise.all(
    message.content.map(async (part) => {
      if (part.type !== 'image' || !part.data.startsWith(stored)) return part
      const object = await blobs?.get(part.data.slice(stored.length))
      return object
        ? { ...part, data: await object.text() }
        : ({ type: 'text', text: '[an image that is gone]' } as const)
    }),
  )
  const result = { ...message, content }
  whole.set(message, result)
  return result
}
