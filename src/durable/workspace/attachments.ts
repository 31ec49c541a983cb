/**
 * Stores images of users and tools. Large ones go to R2 when they arrive, with a reference in the message, and are
 * loaded right before a model call.
 */

import { BoundedMap } from '#agent/core/bounded-map.ts'
import { log } from '#agent/core/log.ts'
import { allMarks } from '#agent/core/marks.ts'
import type { ImagePart, Message, TextPart, ToolMessage, UserMessage } from '#agent/core/message.ts'
import { typedIn } from '#agent/untrusted/typed-text.ts'
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
  const texts = content.map((part) => (part.type === 'text' ? { ...part, unread: undefined } : part))
  return isInline && fitsRow([{ ...message, content: texts } as Message])
}

export const attachmentPrefix = (tenantId: string, sessionId: string): string =>
  sessionBlobPrefix(tenantId, sessionId, 'attachments')

type MessageWithImages = UserMessage | ToolMessage

/** A picture in a message of a person may have words of others, as a file may. */
function markImages<M extends MessageWithImages>(message: M): M {
  if (message.role !== 'user' || !message.content.some(({ type }) => type === 'image')) return message
  return { ...message, marks: allMarks, typed: typedIn(message) }
}

export async function storeImages<M extends MessageWithImages>(
  given: M,
  blobs: R2Bucket | undefined,
  prefix: string,
): Promise<M> {
  const message = markImages(given)
  if (!blobs || !message.content.some(isLarge)) return message
  const content = await Promise.all(
    message.content.map(async (part) => {
      if (!isLarge(part)) return part
      // The length is known later without reading the image.
      const key = `${prefix}${crypto.randomUUID()}.${part.data.length}`
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
  const before = new Set(original.content.flatMap(listStored))
  const keys = placed.content.flatMap(listStored).filter((key) => !before.has(key))
  await blobs
    ?.delete(keys)
    .catch((error: unknown) =>
      log.warn('attachments.undeleted', 'Images of a rejected message could not be deleted.', { error }),
    )
}

/** The keys in R2 that a part names. */
function listStored(part: TextPart | ImagePart): readonly string[] {
  const addresses =
    part.type === 'image' ? [part.data] : [part.pdf?.data, typeof part.sent === 'object' ? part.sent.data : undefined]
  const stored = addresses.flatMap((data) => (data?.startsWith(storedPrefix) ? [data.slice(storedPrefix.length)] : []))
  return [...new Set(stored)]
}

/** Whether a result has an image that is stored before it joins the transcript. */
export const hasLargeImage = ({ content }: ToolMessage): boolean => content.some(isLarge)

/** An image that cannot be stored becomes a note. */
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

/** Stores base64, and returns its address. Short base64 stays as it is. Undefined where it cannot be stored. */
export async function storeData(
  data: string,
  blobs: R2Bucket | undefined,
  prefix: string,
): Promise<string | undefined> {
  if (data.length <= maxInlineChars) return data
  // The length is known later without reading the data.
  const key = `${prefix}${crypto.randomUUID()}.${data.length}`
  try {
    await blobs?.put(key, data)
  } catch (error) {
    log.error('attachments.unstored', 'A file of a message could not be stored.', { error })
    return undefined
  }
  return blobs && storedPrefix + key
}

const isLarge = (part: TextPart | ImagePart): part is ImagePart =>
  part.type === 'image' && !part.mediaType.endsWith(';url') && part.data.length > maxInlineChars

/** Base64 of all images of one request: an isolate has 128 MB for all its sessions, and a request holds it three times. */
export const maxRequestImageChars = 12_000_000
const omittedText = '[an image, left out because newer images fill this request]'
const missingText = '[an image that is no longer available]'

/** The stored part of each loaded one: the bytes of an image live as long as its request, what is known about it longer. */
const storedParts = new WeakMap<ImagePart, ImagePart>()

/** Returns the part of the transcript that an image was loaded from. */
export const getStoredPart = (image: ImagePart): ImagePart => storedParts.get(image) ?? image

/** Concurrent reads; each has an open request. */
const maxConcurrentReads = 6

/**
 * Loads the images of messages. `within`: `imagesOf` the tenant. Above `maxChars` the oldest images become notes, several
 * at once, so that the beginning of the next requests stays the same. The newest image always stays. Nothing is cached.
 */
export async function loadImages(
  messages: readonly Message[],
  blobs: R2Bucket | undefined,
  within: string,
  maxChars = Infinity,
): Promise<readonly Message[]> {
  if (!messages.some(hasStored)) return messages
  const limited = limitConcurrency(maxConcurrentReads)
  const omitted = Number.isFinite(maxChars)
    ? await findOmitted(messages.flatMap(listImages), maxChars, (image) => limited(() => getSize(image, blobs, within)))
    : new Set<ImagePart>()
  const load = async (part: ImagePart): Promise<ImagePart | TextPart> => {
    if (omitted.has(part)) return { type: 'text', text: omittedText }
    if (!part.data.startsWith(storedPrefix)) return part
    const data = await limited(() => loadImage(part, blobs, within))
    if (data === undefined) return { type: 'text', text: missingText }
    const loaded = { ...part, data }
    storedParts.set(loaded, part)
    return loaded
  }
  return Promise.all(
    messages.map(async (message) => {
      if (!listImages(message).some((part) => omitted.has(part) || part.data.startsWith(storedPrefix))) return message
      const content = await Promise.all(message.content.map((part) => (part.type === 'image' ? load(part) : part)))
      return { ...message, content } as Message
    }),
  )
}

const listImages = (message: Message): readonly ImagePart[] =>
  message.role === 'assistant' ? [] : message.content.filter((part) => part.type === 'image')

/** The oldest images in steps of a quarter of the limit, until the rest fits. */
async function findOmitted(
  images: readonly ImagePart[],
  maxChars: number,
  sizeOf: (image: ImagePart) => Promise<number>,
): Promise<ReadonlySet<ImagePart>> {
  const sizes = await Promise.all(images.map(sizeOf))
  const step = maxChars / 4
  const over = sizes.reduce((sum, size) => sum + size, 0) - maxChars
  const end = Math.ceil(Math.max(0, over) / step) * step
  const omitted = new Set<ImagePart>()
  let offset = 0
  for (const [at, image] of images.slice(0, -1).entries()) {
    if (offset >= end) break
    omitted.add(image)
    offset += sizes[at] ?? 0
  }
  return omitted
}

/** The lengths of images whose names do not have them: those of earlier releases. */
const knownSizes = new BoundedMap<string, number>(10_000)

async function getSize({ data }: ImagePart, blobs: R2Bucket | undefined, within: string): Promise<number> {
  if (!data.startsWith(storedPrefix)) return data.length
  const key = data.slice(storedPrefix.length)
  const named = /\.(\d{1,9})$/.exec(key)?.[1]
  const known = named === undefined ? knownSizes.get(key) : Number(named)
  if (known !== undefined) return known
  const size = (key.startsWith(within) ? await blobs?.head(key) : undefined)?.size ?? 0
  knownSizes.set(key, size)
  return size
}

const hasStored = (message: Message): boolean => listImages(message).some(({ data }) => data.startsWith(storedPrefix))

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
  const copied = async (data: string): Promise<string> => {
    if (!data.startsWith(storedPrefix)) return data
    const started = copies.get(data) ?? limited(() => copy(data))
    copies.set(data, started)
    return started
  }
  return async (message) => {
    if (message.role === 'assistant' || !message.content.some((part) => listStored(part).length)) return message
    const content = message.content.map(async (part) => {
      if (part.type === 'image') return { ...part, data: await copied(part.data) }
      const { pdf, sent } = part
      const data = typeof sent === 'object' ? sent.data : undefined
      return {
        ...part,
        ...(pdf && { pdf: { ...pdf, data: await copied(pdf.data) } }),
        ...(typeof sent === 'object' && data !== undefined && { sent: { ...sent, data: await copied(data) } }),
      }
    })
    return { ...message, content: await Promise.all(content) }
  }
}
