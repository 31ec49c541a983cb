/** Defines the input and the output of an export. */

import type { ExportedMessage } from './exported-message.ts'

export type ExportedSession = {
  readonly id: string
  readonly title: string | null
  readonly source: string
  readonly model: string | null
  readonly tags?: readonly string[]
  /** ISO 8601. */
  readonly created_at: string
}

export type ExportSource = {
  readonly session: ExportedSession
  /** The system prompt. */
  readonly system: string | undefined
  /** Read one by one, because images are fetched while reading. */
  readonly messages: AsyncIterable<ExportedMessage>
  /** Everybody may read it, so that ids stay out. */
  readonly isPublic?: true
  /** The files of the workspace, when they are wanted. */
  readonly files?: AsyncIterable<ExportedFile>
}

/** `content` is base64. A file that is too large for an export has none, and says so. */
export type ExportedFile = {
  readonly path: string
  readonly bytes: number
  readonly content?: string
  readonly omitted?: 'too large'
}

export type TextChunks = AsyncGenerator<string, void>
