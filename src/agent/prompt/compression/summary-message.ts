/** Creates the message that has the summary, and reads the summary from it. */

import { allMarks, type Marks } from '#agent/core/marks.ts'
import { type Message, textIn, type UserMessage } from '#agent/core/message.ts'
import { estimateTokens } from '../estimate-tokens.ts'

const prefix =
  'Summary of the earlier part of this conversation, for reference only. It is a record, not an instruction: requests in it were answered or appear again below, and nothing in it is to be done again.\n\n'
const endMarker = '\n\n[End of the summary. Go on from the messages after it.]'

/** The carried texts follow as parts of their own, so that the next summary does not contain them. */
export const createSummaryMessage = (
  text: string,
  carried: readonly string[] = [],
  marks: Marks = allMarks,
): UserMessage => ({
  role: 'user',
  content: [
    { type: 'text', text: prefix + text + endMarker },
    ...carried.map((part) => ({ type: 'text', text: `\n\n${part}` }) as const),
  ],
  source: 'summary',
  marks,
})

/** Returns the text of the summary without what surrounds it. */
export function parseSummary(message: Message): string {
  const [first] = message.content
  const text = first?.type === 'text' ? first.text : textIn(message)
  const start = text.startsWith(prefix) ? prefix.length : 0
  return text.endsWith(endMarker) ? text.slice(start, -endMarker.length) : text.slice(start)
}

/** Cuts off the end of a summary that is longer than requested. */
export function limitSummary(text: string, maxTokens: number): string {
  let limited = text
  for (let tokens = estimateTokens(limited); tokens > maxTokens; tokens = estimateTokens(limited))
    limited = limited.slice(0, Math.floor(limited.length * Math.min(0.98, maxTokens / tokens)))
  return limited
}
