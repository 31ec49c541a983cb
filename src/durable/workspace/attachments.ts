/**
 * Stores images of users and tools. Large ones go to R2 when they arrive, with a reference in the message, and are
 * loaded right before a model call.
 */

import { log } from '#agent/core/log.ts'
import type { ImagePart, Message, TextPart, ToolMessage, UserMessage } from '#agent/core/message.ts'
import type { Result } from '#agent/core/turn.ts'
import { limitConcurrency } from '#backends/limit-concurrency.ts'
import { fitsRow } from '#durable/platform/row-size.ts'
import { sessionBlobPrefix, blobPrefix } from '#durable/platform/addresses.ts'

/** Limit of base64 that stays in the message. */
const maxInlineChars = 8 * 1024
const storedPrefix = 'blob:'

/** Limit of base64 that fits into a row together with the rest of the message. */
const maxRowChars = 1_000_000

/** Whether a message can be stored: large images in R2, if there is a bucket, and the rest in a row. */
export function canStore(message: Message, blobs: R2Bucket | undefined): boolean {
  if (message.role === 'assistant') return fitsRow([message])
  const content = message.content.filter((part) => !blobs || !isLarge(part))
  const isInline = content.every((part) => part.type === 'text' || part.data.length <= maxRowChars)
  return isInline && fitsRow([{ ...message, content } as Message])
}

export const attachmentPrefix = (tenantId: string, sessionId: string): string =>
  sessionBlobPrefix(tenantId, sessionId, 'attachments')

type MessageWithImages = UserMessage | ToolMessage

export async function storeImages<M extends MessageWithImages>(
  message: M,
  blobs: R2Bucket | undefined,
  prefix: string,
): Promise<M> {
  if (!blobs || !message.content.some(isLarge)) return message
  const content = await Promise.all(
    message.content.map(async (part) => {
      if (!isLarge(part)) return part
      const key = `${prefix}${crypto.randomUUID()}`
      await blobs.put(key, part.data)
      return { ...part, data: storedPrefix + key }
    }),
  )
  return { ...message, content }
}

/** Stores the large images of a user's message in R2. Every other message stays as it is. */
export const storeMessageImages = async (
  message: Message,
  blobs: R2Bucket | undefined,
  prefix: string,
): Promise<Message> => (message.role === 'user' ? storeImages(message, blobs, prefix) : message)

/** Deletes the stored images of a message that was rejected. */
export async function discardImages(
  placed: MessageWithImages,
  original: MessageWithImages,
  blobs: R2Bucket | undefined,
): Promise<void> {
  const keys = placed.content.flatMap((part, i) =>
    part.type === 'image' && part !== original.content[i] ? [part.data.slice(storedPrefix.length)] : [],
  )
  await blobs
    ?.delete(keys)
    .catch((error: unknown) =>
      log.warn('attachments.undeleted', 'Images of a rejected message could not be deleted.', { error }),
    )
}

/** Stores images of tool results before they join the transcript. An image that cannot be stored becomes a note. */
export async function* storeResultImages(
  results: AsyncIterable<Result>,
  blobs: R2Bucket | undefined,
  prefix: string,
): AsyncGenerator<Result> {
  for await (const result of results) {
    if (result.of !== 'tool' || !result.message.content.some(isLarge)) yield result
    else yield { ...result, message: await storeToolImages(result.message, blobs, prefix) }
  }
}

export async function storeToolImages(
  message: ToolMessage,
  blobs: R2Bucket | undefined,
  prefix: string,
): Promise<ToolMessage> {
  const placed = await storeImages(message, blobs, prefix).catch((error: unknown) => {
    log.error('attachments.unstored', 'An image of a tool could not be stored.', { error })
    return message
  })
  const content = placed.content.map((part) =>
    part.type === 'image' && part.data.length > maxRowChars ? unstorableImage : part,
  )
  return { ...placed, content }
}

const unstorableImage: TextPart = { type: 'text', text: '[an image that could not be stored]' }

const isLarge = (part: TextPart | ImagePart): part is ImagePart =>
  part.type === 'image' && !part.mediaType.endsWith(';url') && part.data.length > maxInlineChars

/** Messages with loaded images. The same object is reused, because renderings are cached by it. */
const loadedMessages = new WeakMap<Message, Message>()

/** `within`: `imagesOf` the tenant. */
export async function loadImages(
  messages: readonly Message[],
  blobs: R2Bucket | undefined,
  within: string,
): Promise<readonly Message[]> {
  if (!messages.some(hasStored)) return messages
  return Promise.all(messages.map((message) => (hasStored(message) ? loadMessage(message, blobs, within) : message)))
}

const hasStored = (message: Message): boolean =>
  message.role !== 'assistant' &&
  message.content.some((part) => part.type === 'image' && part.data.startsWith(storedPrefix))

/** The base64 of an image, which may be in R2. Undefined when it is not stored any more. */
export async function loadImage(
  { data }: ImagePart,
  blobs: R2Bucket | undefined,
  within: string,
): Promise<string | undefined> {
  if (!data.startsWith(storedPrefix)) return data
  const key = data.slice(storedPrefix.length)
  const object = key.startsWith(within) ? await blobs?.get(key) : undefined
  return object?.text()
}

async function loadMessage(message: Message, blobs: R2Bucket | undefined, within: string): Promise<Message> {
  const cached = loadedMessages.get(message)
  if (cached || message.role === 'assistant') return cached ?? message
  const content = await Promise.all(
    message.content.map(async (part) => {
      if (part.type !== 'image' || !part.data.startsWith(storedPrefix)) return part
      const data = await loadImage(part, blobs, within)
      return data !== undefined
        ? { ...part, data }
        : ({ type: 'text', text: '[an image that is no longer available]' } as const)
    }),
  )
  const result = { ...message, content }
  loadedMessages.set(message, result)
  return result
}

/** Concurrent copies; each has an open request. */
const maxConcurrentCopies = 4

/** Copies the images of messages from another session, because that session deletes its images with itself. */
export function imageCopier(
  blobs: R2Bucket,
  { tenantId, sessionId }: { readonly tenantId: string; readonly sessionId: string },
): (message: Message) => Promise<Message> {
  const [within, prefix] = [blobPrefix(tenantId), attachmentPrefix(tenantId, sessionId)]
  const limited = limitConcurrency(maxConcurrentCopies)
  const copies = new Map<string, Promise<string>>()
  const copy = async (data: string): Promise<string> => {
    const key = data.slice(storedPrefix.length)
    const object = key.startsWith(within) ? await blobs.get(key) : null
    // A missing image is reported when it is loaded.
    if (!object) return data
    const own = prefix + key.slice(key.lastIndexOf('/') + 1)
    await blobs.put(own, object.body)
    return storedPrefix + own
  }
  const copied = (data: string): Promise<string> => {
    const started = copies.get(data) ?? limited(() => copy(data))
    copies.set(data, started)
    return started
  }
  return async (message) => {
    if (message.role === 'assistant' || !hasStored(message)) return message
    const content = message.content.map(async (part) =>
      part.type === 'image' && part.data.startsWith(storedPrefix) ? { ...part, data: await copied(part.data) } : part,
    )
    return { ...message, content: await Promise.all(content) }
  }
}
