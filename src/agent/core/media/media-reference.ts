/** Defines references to files in messages of a platform. */

export type MediaKind = 'image' | 'audio' | 'voice' | 'video' | 'document'

/** The kind of a file by its media type. A voice message is known by more than that. */
export function mediaKindOf(mime: string): Exclude<MediaKind, 'voice'> {
  const [type] = mime.split('/')
  return type === 'image' || type === 'audio' || type === 'video' ? type : 'document'
}

export type MediaReference = {
  readonly kind: MediaKind
  /** The id or address by which the platform's adapter reads the file. */
  readonly reference: string
  readonly name?: string
  readonly mime?: string
  readonly bytes?: number
  /** The file came within the message, and is stored by us. */
  readonly isCarried?: true
  /** The file of the message that is replied to. */
  readonly isQuoted?: true
}
