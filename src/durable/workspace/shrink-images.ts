/**
 * Shrinks images that are too large for a provider, with the Images binding. The stored message is not changed, only the
 * one that is sent.
 */

import { decodeBase64Bytes, encodeBase64Bytes } from '#agent/core/base64.ts'
import { log } from '#agent/core/log.ts'
import { type ShrinkImage, smallImage } from '#agent/core/media/shrink-image.ts'
import type { Message } from '#agent/core/message.ts'
import { isOversizedImage } from '#agent/providers/shared/images/image-limits.ts'

/** Tried in this order until the result is small enough. */
const qualities = [85, 60] as const

export const imageShrinker =
  (images: ImagesBinding): ShrinkImage =>
  async ({ mediaType, data }) => {
    if (mediaType.endsWith(';url')) return undefined
    const whole = decodeBase64Bytes(data)
    let best: Uint8Array | undefined
    for (const quality of qualities) {
      best = await redraw(images, whole, quality)
      if (!best || best.length <= smallImage.bytes) break
    }
    // Encoding a simple image again can make it larger.
    if (!best || best.length >= whole.length) return undefined
    return { type: 'image', mediaType: 'image/jpeg', data: encodeBase64Bytes(best) }
  }

/** Undefined when the binding cannot read it. */
async function redraw(images: ImagesBinding, whole: Uint8Array, quality: number): Promise<Uint8Array | undefined> {
  try {
    const result = await images
      .input(new Blob([whole]).stream())
      .transform({ width: smallImage.side, height: smallImage.side, fit: 'scale-down' })
      .output({ format: 'image/jpeg', quality })
    return new Uint8Array(await result.response().arrayBuffer())
  } catch (error) {
    log.warn('attachments.unshrunk', 'An image could not be shrunk.', { error })
    return undefined
  }
}

/** Messages with shrunk images. The same object is reused, because renderings are cached by it. */
type MessageCache = WeakMap<Message, Message>
const shrunkMessages: MessageCache = new WeakMap()
const shrunkOversized: MessageCache = new WeakMap()

/** Shrinks all images. One that cannot be shrunk stays: the provider may accept it when the others are smaller. */
export const shrinkImages = (messages: readonly Message[], shrink: ShrinkImage): Promise<readonly Message[]> =>
  Promise.all(messages.map((message) => shrinkMessage(message, shrink, shrunkMessages)))

/** Shrinks only images with more pixels than any provider accepts. Returns the same array when there are none. */
export async function shrinkOversizedImages(
  messages: readonly Message[],
  shrink: ShrinkImage,
): Promise<readonly Message[]> {
  const shrinkVast: ShrinkImage = async (part) => (isOversizedImage(part) ? shrink(part) : undefined)
  const made = await Promise.all(messages.map((message) => shrinkMessage(message, shrinkVast, shrunkOversized)))
  return made.every((message, at) => message === messages[at]) ? messages : made
}

async function shrinkMessage(message: Message, shrink: ShrinkImage, cache: MessageCache): Promise<Message> {
  if (message.role === 'assistant' || message.content.every(({ type }) => type === 'text')) return message
  const cached = cache.get(message)
  if (cached) return cached
  const content = await Promise.all(
    message.content.map(async (part) => (part.type === 'image' ? ((await shrink(part)) ?? part) : part)),
  )
  const isSame = content.every((part, at) => part === message.content[at])
  const result = isSame ? message : ({ ...message, content } as Message)
  cache.set(message, result)
  return result
}
