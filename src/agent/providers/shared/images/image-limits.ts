/**
 * Removes images that exceed a provider's documented limits and puts a note in their place. It removes the oldest
 * first, several at once, so that the beginning of the next requests stays the same and can be cached.
 */

import type { ImagePart, Message } from '#agent/core/message.ts'
import { decodeBase64Bytes } from '#agent/core/base64.ts'

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

type ImageSize = { readonly width: number; readonly height: number }

/** Base64 characters that are read. Photos have metadata before their size. */
const maxHeadChars = 262_144

const sizes = new WeakMap<ImagePart, ImageSize | 'unknown'>()

/** Returns undefined for a URL and for an unknown format. */
export function getImageSize(part: ImagePart): ImageSize | undefined {
  let size = sizes.get(part)
  if (!size) sizes.set(part, (size = parseImageSize(part) ?? 'unknown'))
  return size === 'unknown' ? undefined : size
}

function parseImageSize({ mediaType, data }: ImagePart): ImageSize | undefined {
  if (mediaType.endsWith(';url') || !/^[A-Za-z0-9+/]{24}/.test(data)) return undefined
  const head = data.slice(0, maxHeadChars)
  const bytes = decodeBase64Bytes(head.slice(0, head.length - (head.length % 4)))
  const view = new DataView(bytes.buffer)
  const signature = String.fromCharCode(...bytes.subarray(0, 16))
  if (signature.startsWith('\u0089PNG') && bytes.length >= 24)
    return { width: view.getUint32(16), height: view.getUint32(20) }
  if (signature.startsWith('GIF8')) return { width: view.getUint16(6, true), height: view.getUint16(8, true) }
  if (signature.startsWith('RIFF') && signature.slice(8, 12) === 'WEBP')
    return parseWebpSize(view, signature.slice(12, 16))
  return signature.startsWith('\u00FF\u00D8') ? parseJpegSize(view) : undefined
}

function parseWebpSize(view: DataView, kind: string): ImageSize | undefined {
  if (view.byteLength < 30) return undefined
  const readBits = (at: number, bits: number) => view.getUint32(at, true) & (2 ** bits - 1)
  if (kind === 'VP8X') return { width: readBits(24, 24) + 1, height: (view.getUint32(26, true) >>> 8) + 1 }
  if (kind === 'VP8L') return { width: readBits(21, 14) + 1, height: ((view.getUint32(21, true) >>> 14) & 0x3fff) + 1 }
  return kind === 'VP8 ' ? { width: readBits(26, 14), height: view.getUint16(28, true) & 0x3fff } : undefined
}

/** Goes from marker to marker up to the frame header, which has the size. */
function parseJpegSize(view: DataView): ImageSize | undefined {
  for (let at = 2; at + 9 <= view.byteLength; at += 2 + view.getUint16(at + 2)) {
    if (view.getUint8(at) !== 0xff) return undefined
    const marker = view.getUint8(at + 1)
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker)
    if (isFrame) return { width: view.getUint16(at + 7), height: view.getUint16(at + 5) }
  }
  return undefined
}
