/** Shows the model which message a person replies to. */

import type { Quote } from '../channel.ts'
import { escapeName } from './quote-person.ts'

const maxQuoteChars = 500

/** The quoted text is one line, so that nothing in it looks like the message itself. */
export function renderQuote({ sender, text = '' }: Quote, message: string): string {
  const line = text
    .slice(0, 2 * maxQuoteChars)
    .replace(/\s+/g, ' ')
    .trim()
  if (!line) return message
  const shown = line.length > maxQuoteChars ? `${line.slice(0, maxQuoteChars)}…` : line
  return `[In reply to ${sender ? escapeName(sender.name) : 'a message'}: ${shown.replaceAll(']', ')')}]\n${message}`
}
