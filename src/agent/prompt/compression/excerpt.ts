/** Extracts the most important lines of messages. Replaces the summary when no model can write one. */

import type { Message } from '#agent/core/message.ts'
import { renderMessage } from './render.ts'
import { toLine, truncateMiddle } from './truncate.ts'

const maxExcerptChars = 8_000
const maxPreviousChars = 3_000
const maxLineChars = 400
const opening = 'No summary could be written. These are the beginnings of the most important messages:'

type ExcerptOptions = {
  /** The text of the earlier summary. */
  readonly previous?: string | undefined
  /** Removes secrets before anything is cut. */
  readonly mask: (text: string) => string
}

/**
 * Takes the previous summary, then the newest requests of the user, then the newest other messages, as far as there is
 * room. The same messages always give the same text.
 */
export function renderExcerpt(messages: readonly Message[], { previous = '', mask }: ExcerptOptions): string {
  const intro = previous ? `${truncateMiddle(mask(previous), maxPreviousChars)}\n\n${opening}` : opening
  let remaining = maxExcerptChars - intro.length
  const chosen = new Map<number, string>()
  const take = (isWanted: (message: Message) => boolean) => {
    for (let i = messages.length - 1; i >= 0; i--) {
      const message = messages[i] as Message
      if (chosen.has(i) || !isWanted(message)) continue
      const line = toLine(mask(renderMessage(message)), maxLineChars)
      if (line.length + 1 > remaining) return
      chosen.set(i, line)
      remaining -= line.length + 1
    }
  }
  take(({ role }) => role === 'user')
  take(({ role }) => role !== 'user')
  const lines = [...chosen].toSorted(([a], [b]) => a - b).map(([, line]) => line)
  return [intro, ...lines].join('\n')
}
