/** Names the files of a message for the model, where it does not get the files themselves. */

import type { MediaKind, MediaReference } from '#agent/core/media/media-reference.ts'

const names: Readonly<Record<MediaKind, string>> = {
  image: 'photo',
  audio: 'sound',
  voice: 'voice message',
  video: 'video',
  document: 'file',
}

/** `photo, file`; empty without files. */
export const describeMedia = (media: readonly MediaReference[] = []): string =>
  media.map(({ kind }) => names[kind]).join(', ')

/** The text of a message, and its files in brackets. */
export const withMediaNames = (text: string, media: readonly MediaReference[]): string =>
  [text, ...(media.length ? [`[${describeMedia(media)}]`] : [])].filter(Boolean).join(' ')
