/**
 * Images that a provider finds too large are made smaller by the Images binding, where there is one. The
 * stored message stays as it was sent: only what goes out is smaller.
 */

import { type ShrinkImage, small } from '../../agent/model/images.ts'
import type { Message } from '../../agent/model/message.ts'
import { isOversizedImage } from '../../agent/providers/shared/image-limits.ts'

/** Tried in this order until the result is small enough; the last one is taken as it is. */
const qualities = [85, 60] as const

export const imageShrinker =
  (images: ImagesBinding): ShrinkImage =>
  async ({ mediaType, data }) => {
    if (mediaType.endsWith(';url')) return undefined
    const whole = Uint8Array.from(atob(data), (char) => char.charCodeAt(0))
    let best: Uint8Array | undefined
    for (const quality of qualities) {
      best = await redrawn(images, whole, quality)
      if (!best || best.length <= small.bytes) break
    }
    // Redrawing a picture that is simple can make it larger.
    if (!best || best.length >= whole.length) return undefined
    return { type: 'image', mediaType: 'image/jpeg', data: base64Of(best) }
  }

/** Undefined when the binding cannot read it. */
async function redrawn(images: ImagesBinding, whole: Uint8Array, quality: number): Promise<Uint8Array | undefined> {
  try {
    const result = await images
      .input(new Blob([whole]).stream())
      .transform({ width: small.side, height: small.side, fit: 'scale-down' })
      .output({ format: 'image/jpeg', quality })
    return new Uint8Array(await result.response().arrayBuffer())
  } catch (error) {
    console.warn('An image could not be made smaller.', error)
    return undefined
  }
}

const step = 32_768

function base64Of(bytes: Uint8Array): string {
  let binary = ''
  for (let at = 0; at < bytes.length; at += step) binary += String.fromCharCode(...bytes.subarray(at, at + step))
  return btoa(binary)
}

/** Messages with smaller images, kept as one object, so that its rendering is cached with it. */
type Kept = WeakMap<Message, Message>
const all: Kept = new WeakMap()
const vast: Kept = new WeakMap()

/** What cannot be made smaller stays: the provider may take it when the others are smaller. */
export const shrinkImages = (messages: readonly Message[], shrink: ShrinkImage): Promise<readonly Message[]> =>
  Promise.all(messages.map((message) => shrunk(message, shrink, all)))

/** Only of those with more pixels than any provider takes: there is no need to ask first. The same array without them. */
export async function shrinkOversizedImages(
  messages: readonly Message[],
  shrink: ShrinkImage,
): Promise<readonly Message[]> {
  const shrinkVast: ShrinkImage = async (part) => (isOversizedImage(part) ? shrink(part) : undefined)
  const made = await Promise.all(messages.map((message) => shrunk(message, shrinkVast, vast)))
  return made.every((message, at) => message === messages[at]) ? messages : made
}

async function shrunk(message: Message, shrink: ShrinkImage, kept: Kept): Promise<Message> {
  if (message.role === 'assistant' || message.content.every(({ type }) => type === 'text')) return message
  const known = kept.get(message)
  if (known) return known
  const content = await Promise.all(
    message.content.map(async (part) => (part.type === 'image' ? ((await shrink(part)) ?? part) : part)),
  )
  const isSame = content.every((part, at) => part === message.content[at])
  const result = isSame ? message : ({ ...message, content } as Message)
  kept.set(message, result)
  return result
}
