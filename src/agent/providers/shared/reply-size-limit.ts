/** Limits how much of one reply is held in memory. */

import type { ParseError } from 'eventsource-parser'

/** No session could store a larger reply. */
const maxReplyChars = 4_000_000
const maxReplyParts = 1_000

/** Counts what a reply builder is about to keep, and throws when the reply is over a limit. */
export class ReplySizeLimit {
  #chars = 0
  #parts = 0

  countText(text: string): void {
    this.#chars += text.length
    if (this.#chars > maxReplyChars) throw new Error(`The reply has more than ${maxReplyChars} characters.`)
  }

  /** Counts every property that is a string. */
  countTexts(fields: object): void {
    for (const value of Object.values(fields)) if (typeof value === 'string') this.countText(value)
  }

  countPart(): void {
    if (++this.#parts > maxReplyParts) throw new Error(`The reply has more than ${maxReplyParts} parts.`)
  }
}

/** Options for the event stream parser. They end a single event that never ends. */
export const eventParserLimits = {
  maxBufferSize: 4 * maxReplyChars,
  onError: (error: ParseError) => {
    if (error.type === 'max-buffer-size-exceeded') throw error
  },
}
