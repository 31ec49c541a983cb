/** Checks whether input fits into one row of SQLite (2 MB), before it is accepted. */

import type { Message } from '#agent/core/message.ts'

/** UTF-8 bytes of the messages as JSON. The rest of the row is for the turn, its events and a started answer. */
export const maxInputBytes = 1_810_000

const encoder = new TextEncoder()

export const utf8Bytes = (text: string): number => encoder.encode(text).byteLength

/** Whether a text has at most `maxBytes`. A character has at most three bytes, so that most texts are not encoded. */
export const fitsBytes = (text: string, maxBytes: number): boolean =>
  text.length * 3 <= maxBytes || utf8Bytes(text) <= maxBytes

/** Whether the messages fit into one row together. */
export const fitsRow = (messages: readonly Message[]): boolean => fitsBytes(JSON.stringify(messages), maxInputBytes)
