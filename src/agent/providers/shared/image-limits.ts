/**
 * Images that one request may have, as providers document it. The oldest are left out first, with a note in their
 * place; several at once, so that the beginning of the next requests stays the same and can be cached.
 */

import type { ImagePart, Message } from '../../model/message.ts'
import { sizeOf } from './image-size.ts'

export type ImageLimits = {
  /** Images in one request. */
  readonly count: number
  /** Pixels of the longer side. */
  readonly side: number
  /** With more images than this, none may have a longer side. */
  readonly crowd?: { readonly count: number; readonly side: number }
}

/** Pixels of the longer side that Anthropic and Bedrock take, and others make smaller by themselves. */
export const widest = 8_000

export const isVast = (image: ImagePart): boolean => isOver(image, widest)

const tooMany = '[an image, left out because there are too many in this conversation]'
const tooWide = '[an image, left out because it has too many pixels]'

const imagesIn = (message: Message): readonly ImagePart[] =>
  message.role === 'assistant' ? [] : message.content.filter((part) => part.type === 'image')

const isOver = (image: ImagePart, side: number): boolean => {
  const size = sizeOf(image)
  return size !== undefined && Math.max(size.width, size.height) > side
}

/** The same array as long as all its images may go. */
export function fewerImages(clean: readonly Message[], limits: ImageLimits): readonly Message[] {
  const images = clean.flatMap(imagesIn)
  if (!images.length) return clean
  const out = leftOut(images, limits)
  if (!out && !images.some((image) => isOver(image, limits.side))) return clean
  return grown(clean, out, limits.side)
}

/** How many of the oldest. */
function leftOut(images: readonly ImagePart[], { count, crowd, side }: ImageLimits): number {
  const isCrowd = crowd && images.length > crowd.count
  const most = isCrowd && images.some((one) => isOver(one, crowd.side) && !isOver(one, side)) ? crowd.count : count
  const step = Math.ceil(most / 4)
  return Math.max(0, Math.ceil((images.length - most) / step) * step)
}

type Grown = { readonly out: number; readonly side: number; readonly list: Message[]; upTo: number; seen: number }
const kept = new WeakMap<readonly Message[], Grown>()

/** One array for as long as the same images are left out: what is rendered of it is kept by it. */
function grown(clean: readonly Message[], out: number, side: number): readonly Message[] {
  let state = kept.get(clean)
  if (state?.out !== out || state.side !== side || state.upTo > clean.length)
    kept.set(clean, (state = { out, side, list: [], upTo: 0, seen: 0 }))
  for (; state.upTo < clean.length; state.upTo++) {
    const message = clean[state.upTo] as Message
    state.list.push(without(message, out - state.seen, side))
    state.seen += imagesIn(message).length
  }
  return state.list
}

/** Without its first `out` images, and those that are too wide. */
function without(message: Message, out: number, side: number): Message {
  if (message.role === 'assistant') return message
  let seen = 0
  const content = message.content.map((part) => {
    if (part.type !== 'image') return part
    if (seen++ < out) return { type: 'text', text: tooMany } as const
    return isOver(part, side) ? ({ type: 'text', text: tooWide } as const) : part
  })
  return content.some((part, at) => part !== message.content[at]) ? { ...message, content } : message
}
