/** A title for a session that nobody named: the beginning of what was said first. */

import { textIn, type UserMessage } from '../agent/model/message.ts'

const longest = 60

export function titleOf(message: UserMessage): string | null {
  const line = textIn(message).replace(/\s+/g, ' ').trim()
  if (!line) return null
  return line.length > longest ? `${line.slice(0, longest - 1)}…` : line
}
