/** Compresses a long transcript: splits off the tail that is kept, and renders the rest for a summary. */

import { callsIn, type Message, textIn, type UserMessage, userText } from '../model/message.ts'
import { estimateTokens } from './estimate-tokens.ts'

/** Messages at the end that are kept unchanged. */
const defaultTailMessages = 20
/** More input does not improve a summary, even where the window has room. */
const maxInputChars = 160_000
const maxExcerptChars = 8_000

const summaryRequest = `Summarise the conversation below so that somebody else could go on with it without having seen it.
Keep: what the person wants and the limits they set; what was done, with exact names, paths, numbers and results; what was decided and why; what is open and what comes next.
Write plain text under these headings: Goal, Limits, Done, Decisions, Open, Facts. Leave out courtesies. Do not answer the conversation.`

/** `focus`: the topic that the user wants to keep in most detail. */
export const renderSummaryRequest = (focus: string | undefined): string =>
  focus ? `${summaryRequest}\nGive the most room to this, and be short about the rest: ${focus}` : summaryRequest

const summaryPrefix =
  'Summary of the earlier part of this conversation. It is there for reference; what it mentions as open is not a new request.\n\n'

/**
 * Returns the index of the first message that is kept. It never separates a call from its results. About half of
 * the messages at most are kept, so that a short conversation still has something to summarise.
 */
export function findTailStart(messages: readonly Message[], keep: number = defaultTailMessages): number {
  let from = Math.max(0, messages.length - Math.min(keep, Math.floor(messages.length / 2)))
  while (from > 0 && messages[from]?.role === 'tool') from--
  return from
}

/** Renders the user's last request if it is not in the tail, because a summary must not reword it. */
function renderOpenRequest(messages: readonly Message[], from: number): string {
  const last = messages.findLastIndex((message) => message.role === 'user' && !message.source)
  const text = last >= 0 && last < from ? textIn(messages[last] as Message) : ''
  return text ? `\n\nThe request that is being worked on, word for word:\n${truncateMiddle(text, maxExcerptChars)}` : ''
}

/** Creates the message that replaces all messages before `from`. */
export const createSummaryMessage = (messages: readonly Message[], from: number, summary: string): UserMessage =>
  userText(summaryPrefix + summary + renderOpenRequest(messages, from), 'summary')

/** Renders the messages to be summarised, truncated to `maxTokens`. */
export function renderTranscript(messages: readonly Message[], maxTokens: number = Infinity): string {
  const full = messages.map(renderMessage).join('\n')
  let maxChars = Math.min(full.length, maxInputChars)
  let text = truncateMiddle(full, maxChars)
  // The remaining text may have more tokens per character than the removed part, so this repeats.
  for (let tokens = estimateTokens(text); tokens > maxTokens && maxChars > 0; tokens = estimateTokens(text)) {
    maxChars = Math.floor(maxChars * Math.min(0.98, Math.max(0, maxTokens) / tokens))
    text = truncateMiddle(full, maxChars)
  }
  return text
}

/** Renders the beginning and the end of the messages. Replaces the summary when no model is available. */
export const renderExcerpt = (messages: readonly Message[]): string =>
  truncateMiddle(messages.map(renderMessage).join('\n'), maxExcerptChars)

function renderMessage(message: Message): string {
  const text = textIn(message)
  if (message.role === 'tool') return `[${message.name} returned] ${truncateMiddle(text, 1_000)}`
  if (message.role === 'user') return `[user] ${text}`
  const calls = callsIn(message).map(({ name, input }) => `${name}(${truncateMiddle(JSON.stringify(input), 300)})`)
  return `[assistant] ${text}${calls.length ? ` → ${calls.join(', ')}` : ''}`
}

function truncateMiddle(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text
  const half = Math.floor(maxChars / 2)
  return `${text.slice(0, half)}\n[… ${text.length - 2 * half} characters left out …]\n${half ? text.slice(-half) : ''}`
}
