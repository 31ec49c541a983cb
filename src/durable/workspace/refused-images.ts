/**
 * Remembers the images that a model has refused, so that they cost a later turn no refused request. A request without them
 * has to succeed first: then they were the reason.
 */

import { hash53 } from '#agent/core/hash53.ts'
import type { ImagePart, Message } from '#agent/core/message.ts'

type RefusedMetadata = {
  readonly meta: { readonly refusedImages?: readonly string[] }
  readonly updateMeta: (change: { readonly refusedImages: readonly string[] }) => void
}

/** The oldest are dropped: such an image is sent, and refused, once more. */
const maxRefused = 200
const refusedText = '[an image that the model in use did not accept]'

/** A large image is stored, and its address is hashed. */
const hashOf = (model: string, { data }: ImagePart): string => hash53(`${model} ${data}`).toString(36)

const listImages = (messages: readonly Message[]): readonly ImagePart[] =>
  messages.flatMap((message) =>
    message.role === 'assistant' ? [] : message.content.filter((part) => part.type === 'image'),
  )

/** The images since the last message of a person, or all images: earlier ones were accepted in their turns. */
export function rememberRefusedImages(session: RefusedMetadata, model: string, transcript: readonly Message[]) {
  const begin = transcript.findLastIndex(({ role }) => role === 'user')
  const latest = listImages(transcript.slice(begin))
  const refused = (latest.length ? latest : listImages(transcript)).map((image) => hashOf(model, image))
  const known = session.meta.refusedImages ?? []
  const added = refused.filter((hash) => !known.includes(hash))
  if (added.length) session.updateMeta({ refusedImages: [...known, ...new Set(added)].slice(-maxRefused) })
}

/** Replaces images that the model has refused by a note. */
export function omitRefusedImages(
  transcript: readonly Message[],
  model: string,
  refused: readonly string[] = [],
): readonly Message[] {
  const isRefused = (image: ImagePart) => refused.includes(hashOf(model, image))
  if (!refused.length || !listImages(transcript).some(isRefused)) return transcript
  return transcript.map((message) =>
    listImages([message]).some(isRefused)
      ? ({
          ...message,
          content: message.content.map((part) =>
            part.type === 'image' && isRefused(part) ? { type: 'text', text: refusedText } : part,
          ),
        } as Message)
      : message,
  )
}
