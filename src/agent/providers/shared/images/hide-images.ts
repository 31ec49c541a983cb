/** Replaces images by a description or a note, for models that cannot see them. */

import type { ImagePart, Message } from '#agent/core/message.ts'

const unseenImageText = '[an image: the model in use cannot see images]'

/** Describes an image, if there is a description. */
type TextOf = (image: ImagePart) => string | undefined

const hiddenTranscripts = new WeakMap<readonly Message[], Message[]>()

/** Returns the same growing array for a growing transcript, because renderings are cached by that array. */
export function hideImages(transcript: readonly Message[], textOf: TextOf = () => undefined): readonly Message[] {
  let hidden = hiddenTranscripts.get(transcript)
  if (!hidden || hidden.length > transcript.length) hiddenTranscripts.set(transcript, (hidden = []))
  hidden.push(...transcript.slice(hidden.length).map((message) => withoutImages(message, textOf)))
  return hidden
}

function withoutImages(message: Message, textOf: TextOf): Message {
  if (message.role === 'assistant' || !message.content.some(({ type }) => type === 'image')) return message
  const content = message.content.map((part) =>
    part.type === 'image' ? ({ type: 'text', text: textOf(part) ?? unseenImageText } as const) : part,
  )
  return { ...message, content }
}
