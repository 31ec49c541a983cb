/**
 * Images that people send and tools bring. What is large goes to R2 at the door and is named in the message; right
 * before a model call it is fetched and put in its place.
 */

import type { ImagePart, Message, TextPart, ToolMessage, UserMessage } from '../../agent/model/message.ts'
import type { Result } from '../../agent/model/turn.ts'
import { limitConcurrency } from '../../backends/limit-concurrency.ts'
import { fitRow } from '../platform/row-size.ts'

/** Characters of base64 kept in the message itself. */
const inline = 8 * 1024
const stored = 'blob:'

/** Characters of base64 that fit into a row with the rest of its message. */
const mostInline = 1_000_000

/** Whether it can be kept: large images apart from it, where there is a place for them, and the rest in a row. */
export function canStore(message: Message, blobs: R2Bucket | undefined): boolean {
  if (message.role === 'assistant') return fitRow([message])
  const content = message.content.filter((part) => !blobs || !isLarge(part))
  const isInline = content.every((part) => part.type === 'text' || part.data.length <= mostInline)
  return isInline && fitRow([{ ...message, content } as Message])
}

/** What messages of a tenant may name: the rest is another tenant's, or nobody's. */
export const tenantImagePrefix = (tenantId: string): string => `t/${tenantId}/`

export const attachmentPrefix = (tenantId: string, sessionId: string): string =>
  `${tenantImagePrefix(tenantId)}s/${sessionId}/attachments/`

type Pictured = UserMessage | ToolMessage

export async function storeImages<M extends Pictured>(
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
      return { ...part, data: stored + key }
    }),
  )
  return { ...message, content }
}

/** Takes back what was stored of a message that was not taken. */
export async function discardImages(placed: Pictured, given: Pictured, blobs: R2Bucket | undefined): Promise<void> {
  const keys = placed.content.flatMap((part, i) =>
    part.type === 'image' && part !== given.content[i] ? [part.data.slice(stored.length)] : [],
  )
  await blobs?.delete(keys).catch((error: unknown) => console.warn('Images of nobody could not be removed.', error))
}

/** What tools bring, on its way into the transcript. An image that there is no place for is named in words. */
export async function* storeResultImages(
  results: AsyncIterable<Result>,
  blobs: R2Bucket | undefined,
  prefix: string,
): AsyncGenerator<Result> {
  for await (const result of results) {
    if (result.of !== 'tool' || !result.message.content.some(isLarge)) yield result
    else yield { ...result, message: await kept(result.message, blobs, prefix) }
  }
}

async function kept(message: ToolMessage, blobs: R2Bucket | undefined, prefix: string): Promise<ToolMessage> {
  const placed = await storeImages(message, blobs, prefix).catch((error: unknown) => {
    console.error('An image of a tool could not be stored.', error)
    return message
  })
  const content = placed.content.map((part) => (part.type === 'image' && part.data.length > mostInline ? lost : part))
  return { ...placed, content }
}

const lost: TextPart = { type: 'text', text: '[an image that could not be kept]' }

const isLarge = (part: TextPart | ImagePart): part is ImagePart =>
  part.type === 'image' && !part.mediaType.endsWith(';url') && part.data.length > inline

/** The message as it was sent, kept as one object, so that its rendering is cached with it. */
const whole = new WeakMap<Message, Message>()

/** `within`: `imagesOf` the tenant. */
export async function loadImages(
  messages: readonly Message[],
  blobs: R2Bucket | undefined,
  within: string,
): Promise<readonly Message[]> {
  if (!messages.some(hasStored)) return messages
  return Promise.all(messages.map((message) => (hasStored(message) ? loaded(message, blobs, within) : message)))
}

const hasStored = (message: Message): boolean =>
  message.role !== 'assistant' && message.content.some((part) => part.type === 'image' && part.data.startsWith(stored))

async function loaded(message: Message, blobs: R2Bucket | undefined, within: string): Promise<Message> {
  const known = whole.get(message)
  if (known || message.role === 'assistant') return known ?? message
  const content = await Promise.all(
    message.content.map(async (part) => {
      if (part.type !== 'image' || !part.data.startsWith(stored)) return part
      const key = part.data.slice(stored.length)
      const object = key.startsWith(within) ? await blobs?.get(key) : undefined
      return object
        ? { ...part, data: await object.text() }
        : ({ type: 'text', text: '[an image that is gone]' } as const)
    }),
  )
  const result = { ...message, content }
  whole.set(message, result)
  return result
}

/** Copies that are made at the same time: each has a request open. */
const copiedAtOnce = 4

/** Gives messages of another session images of their own, because that session takes its images along when it goes. */
export function imageCopier(
  blobs: R2Bucket,
  { tenantId, sessionId }: { readonly tenantId: string; readonly sessionId: string },
): (message: Message) => Promise<Message> {
  const [within, prefix] = [tenantImagePrefix(tenantId), attachmentPrefix(tenantId, sessionId)]
  const inLine = limitConcurrency(copiedAtOnce)
  const copies = new Map<string, Promise<string>>()
  const copy = async (data: string): Promise<string> => {
    const key = data.slice(stored.length)
    const object = key.startsWith(within) ? await blobs.get(key) : null
    // One that is gone is said to be, under whichever name.
    if (!object) return data
    const own = prefix + key.slice(key.lastIndexOf('/') + 1)
    await blobs.put(own, object.body)
    return stored + own
  }
  const copied = (data: string): Promise<string> => {
    const known = copies.get(data) ?? inLine(() => copy(data))
    copies.set(data, known)
    return known
  }
  return async (message) => {
    if (message.role === 'assistant' || !hasStored(message)) return message
    const content = message.content.map(async (part) =>
      part.type === 'image' && part.data.startsWith(stored) ? { ...part, data: await copied(part.data) } : part,
    )
    return { ...message, content: await Promise.all(content) }
  }
}
