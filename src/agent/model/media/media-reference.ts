/** Defines references to files in messages of a platform. */

export type MediaKind = 'image' | 'audio' | 'voice' | 'video' | 'document'

export type MediaReference = {
  readonly kind: MediaKind
  /** What the platform's adapter needs to read the file: an id or an address. */
  readonly reference: string
  readonly name?: string
  readonly mime?: string
  readonly bytes?: number
}
