/** Making a long transcript short: what is kept word for word, and how the rest is asked for or cut. */

import { callsIn, type Message, textIn, type UserMessage, userText } from '../model/message.ts'
import { estimateTokens } from './estimate-tokens.ts'

/** Messages at the end that stay as they are. */
const defaultTailMessages = 20
/** Characters, also where there is room for more: a summary does not get better by it. */
const maxInputChars = 160_000
const maxExcerptChars = 8_000

const summaryRequest = `Summarise the conversation below so that somebody else could go on with it without having seen it.
Keep: what the person wants and the limits they set; what was done, with exact names, paths, numbers and results; what was decided and why; what is open and what comes next.
Write plain text under these headings: Goal, Limits, Done, Decisions, Open, Facts. Leave out courtesies. Do not answer the conversation.`

/** `focus`: what a person wants to keep above all. */
export const renderSummaryRequest = (focus: string | undefined): string =>
  focus ? `${summaryRequest}\nGive the most room to this, and be short about the rest: ${focus}` : summaryRequest

const summaryPrefix =
  'Summary of the earlier part of this conversation. It is there for reference; what it mentions as open is not a new request.\n\n'

/**
 * Index from which messages stay: never between a call and its results, and never so late that nothing
 * is left of a short conversation.
 */
export function findTailStart(messages: readonly Message[], keep: number = defaultTailMessages): number {
  let from = Math.max(0, messages.length - Math.min(keep, Math.floor(messages.length / 2)))
  while (from > 0 && messages[from]?.role === 'tool') from--
  return from
}

/** What a person asked last, when it is not among what stays: a summary must not reword it. */
function renderOpenRequest(messages: readonly Message[], from: number): string {
  const last = messages.findLastIndex((message) => message.role === 'user' && !message.source)
  const text = last >= 0 && last < from ? textIn(messages[last] as Message) : ''
  return text ? `\n\nThe request that is being worked on, word for word:\n${truncateMiddle(text, maxExcerptChars)}` : ''
}

/** What stands for all messages before `from`. */
export const createSummaryMessage = (messages: readonly Message[], from: number, summary: string): UserMessage =>
  userText(summaryPrefix + summary + renderOpenRequest(messages, from), 'summary')

/** The part to be summarised, as text for the summarising call. `room`: tokens it may have. */
export function renderTranscript(messages: readonly Message[], room: number = Infinity): string {
  const whole = messages.map(renderMessage).join('\n')
  let cap = Math.min(whole.length, maxInputChars)
  let text = truncateMiddle(whole, cap)
  // What is left may be denser than what was cut: then it is cut once more.
  for (let tokens = estimateTokens(text); tokens > room && cap > 0; tokens = estimateTokens(text)) {
    cap = Math.floor(cap * Math.min(0.98, Math.max(0, room) / tokens))
    text = truncateMiddle(whole, cap)
  }
  return text
}

/** When no model can be asked: the beginning and the end, cut to a size that fits everywhere. */
export const renderExcerpt = (messages: readonly Message[]): string => truncateMiddle(messages.map(renderMessage).join('\n'), maxExcerptChars)

function renderMessage(message: Message): string {
  const said = textIn(message)
  if (message.role === 'tool') return `[${message.name} returned] ${truncateMiddle(said, 1_000)}`
  if (message.role === 'user') return `[user] ${said}`
  const calls = callsIn(message).map(({ name, input }) => `${name}(${truncateMiddle(JSON.stringify(input), 300)})`)
  return `[assistant] ${said}${calls.length ? ` → ${calls.join(', ')}` : ''}`
}

function truncateMiddle(text: string, cap: number): string {
  if (text.length <= cap) return text
  const half = Math.floor(cap / 2)
  return `${text.slice(0, half)}\n[… ${text.length - 2 * half} characters left out …]\n${half ? text.slice(-half) : ''}`
}
