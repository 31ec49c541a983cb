/** What an export is made from, and what it is made into. */

import type { ExportedMessage } from './exported-message.ts'

export type ExportedSession = {
  readonly id: string
  readonly title: string | null
  readonly source: string
  readonly model: string | null
  /** ISO 8601. */
  readonly created_at: string
}

export type Exported = {
  readonly session: ExportedSession
  /** The prompt that its models were given. */
  readonly system: string | undefined
  /** Told one after the other: images are fetched on the way. */
  readonly messages: AsyncIterable<ExportedMessage>
}

export type Pieces = AsyncGenerator<string, void>
