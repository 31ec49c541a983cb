/**
 * Removes images that exceed a provider's documented limits and puts a note in their place. It removes the oldest
 * first, several at once, so that the beginning of the next requests stays the same and can be cached.
 */

import type { ImagePart, Message } from '#agent/core/message.ts'
import { getImageSize } from './image-size.ts'

export type ImageLimits = {
  /** The number of images in one request. */
  readonly maxImages: number
  /** The longer side of an image. */
  readonly maxSidePx: number
  /** A request with more than `images` images has a lower limit for the longer side. */
  readonly whenOver?: { readonly images: number; readonly maxSidePx: number }
}

/** Anthropic and Bedrock refuse larger images. Other providers scale them down. */
export const maxImageSidePx = 8_000

export const isOversizedImage = (image: ImagePart): boolean => isOver(image, maxImageSidePx)

const tooManyText = '[an image, left out because there are too many in this conversation]'
const tooLargeText = '[an image, left out because it has too many pixels]'

const listImages = (message: Message): readonly ImagePart[] =>
  message.role === 'assistant' ? [] : message.content.filter((part) => part.type === 'image')

const isOver = (image: ImagePart, maxSidePx: number): boolean => {
  const size = getImageSize(image)
  return size !== undefined && Math.max(size.width, size.height) > maxSidePx
}

/** Returns the same array when no image has to be removed. */
export function limitImages(transcript: readonly Message[], limits: ImageLimits): readonly Message[] {
  const images = transcript.flatMap(listImages)
  if (!images.length) return transcript
  const omittedCount = countOmitted(images, limits)
  if (!omittedCount && !images.some((image) => isOver(image, limits.maxSidePx))) return transcript
  return omitIncrementally(transcript, omittedCount, limits.maxSidePx)
}

/** Returns how many of the oldest images to omit: a multiple of a quarter of the limit. */
function countOmitted(images: readonly ImagePart[], { maxImages, maxSidePx, whenOver }: ImageLimits): number {
  const isLowerLimit =
    whenOver &&
    images.length > whenOver.images &&
    images.some((image) => isOver(image, whenOver.maxSidePx) && !isOver(image, maxSidePx))
  const limit = isLowerLimit ? whenOver.images : maxImages
  const step = Math.ceil(limit / 4)
  return Math.max(0, Math.ceil((images.length - limit) / step) * step)
}

type LimitedTranscript = {
  readonly omittedCount: number
  readonly maxSidePx: number
  readonly messages: Message[]
  messageCount: number
  imageCount: number
}
const limitedTranscripts = new WeakMap<readonly Message[], LimitedTranscript>()

/** Returns the same growing array while the same images are omitted, because renderings are cached by that array. */
function omitIncrementally(
  transcript: readonly Message[],
  omittedCount: number,
  maxSidePx: number,
): readonly Message[] {
  let state = limitedTranscripts.get(transcript)
  if (state?.omittedCount !== omittedCount || state.maxSidePx !== maxSidePx || state.messageCount > transcript.length)
    limitedTranscripts.set(
      transcript,
      (state = { omittedCount, maxSidePx, messages: [], messageCount: 0, imageCount: 0 }),
    )
  for (; state.messageCount < transcript.length; state.messageCount++) {
    const message = transcript[state.messageCount] as Message
    state.messages.push(omitImages(message, omittedCount - state.imageCount, maxSidePx))
    state.imageCount += listImages(message).length
  }
  return state.messages
}

/** Replaces the first `count` images of a message, and all that are too large. */
function omitImages(message: Message, count: number, maxSidePx: number): Message {
  if (message.role === 'assistant') return message
  let imageCount = 0
  const content = message.content.map((part) => {
    if (part.type !== 'image') return part
    if (imageCount++ < count) return { type: 'text', text: tooManyText } as const
    return isOver(part, maxSidePx) ? ({ type: 'text', text: tooLargeText } as const) : part
  })
  return content.some((part, at) => part !== message.content[at]) ? { ...message, content } : message
}
