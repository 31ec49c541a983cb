/**
 * Shrinks images that are too large for a provider, with the Images binding. The stored message is not changed, only the
 * one that is sent.
 */

import { decodeBase64Bytes, encodeBase64Bytes } from '#agent/core/base64.ts'
import { log } from '#agent/core/log.ts'
import { type ShrinkImage, smallImage } from '#agent/core/media/shrink-image.ts'
import type { ImagePart, Message } from '#agent/core/message.ts'
import { isOversizedImage } from '#agent/providers/shared/images/image-limits.ts'
import { getStoredPart } from './attachments.ts'

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

/** The result for each stored image: a smaller one, or the same. Each call of the binding is billed. */
type ImageCache = WeakMap<ImagePart, ImagePart | 'same'>
const shrunkImages: ImageCache = new WeakMap()
const shrunkOversized: ImageCache = new WeakMap()

/** Shrinks all images. One that cannot be shrunk stays: the provider may accept it when the others are smaller. */
export const shrinkImages = (messages: readonly Message[], shrink: ShrinkImage): Promise<readonly Message[]> =>
  Promise.all(messages.map((message) => shrinkMessage(message, shrink, shrunkImages)))

/** Shrinks only images with more pixels than any provider accepts. Returns the same array when there are none. */
export async function shrinkOversizedImages(
  messages: readonly Message[],
  shrink: ShrinkImage,
): Promise<readonly Message[]> {
  const shrinkVast: ShrinkImage = async (part) => (isOversizedImage(part) ? shrink(part) : undefined)
  const made = await Promise.all(messages.map((message) => shrinkMessage(message, shrinkVast, shrunkOversized)))
  return made.every((message, at) => message === messages[at]) ? messages : made
}

async function shrinkMessage(message: Message, shrink: ShrinkImage, cache: ImageCache): Promise<Message> {
  if (message.role === 'assistant' || message.content.every(({ type }) => type === 'text')) return message
  const content = await Promise.all(
    message.content.map((part) => (part.type === 'image' ? shrinkOnce(part, shrink, cache) : part)),
  )
  const isSame = content.every((part, at) => part === message.content[at])
  return isSame ? message : ({ ...message, content } as Message)
}

async function shrinkOnce(part: ImagePart, shrink: ShrinkImage, cache: ImageCache): Promise<ImagePart> {
  const stored = getStoredPart(part)
  let made = cache.get(stored)
  if (!made) cache.set(stored, (made = (await shrink(part)) ?? 'same'))
  return made === 'same' ? part : made
}
