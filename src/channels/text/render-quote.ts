/** Shows the model which message a person replies to. */

import type { Quote } from '../channel.ts'
import { describeMedia } from './describe-media.ts'
import { escapeName } from './quote-person.ts'

const maxQuoteChars = 500

/** The quoted text is one line, so that nothing in it looks like the message itself. */
export function renderQuote({ sender, text = '', media }: Quote, message: string): string {
  const line = text
    .slice(0, 2 * maxQuoteChars)
    .replace(/\s+/g, ' ')
    .trim()
  const files = describeMedia(media)
  if (!line && !files) return message
  const shown = line.length > maxQuoteChars ? `${line.slice(0, maxQuoteChars)}…` : line
  const content = [files && `(${files})`, shown.replaceAll(']', ')')].filter(Boolean).join(' ')
  return `[In reply to ${sender ? escapeName(sender.name) : 'a message'}: ${content}]\n${message}`
}
