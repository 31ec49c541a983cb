/**
 * Truncates messages and instructions that are too large for a row of D1. The session keeps the whole message; only a
 * session that is rebuilt from history has the shorter one.
 */

import type { Entry } from '#agent/core/history.ts'
import type { Message } from '#agent/core/message.ts'
import type { Turn } from '#agent/core/turn.ts'
import { maxPageBytes } from '#db/page-row.ts'
import { utf8Bytes, fitsBytes } from '#durable/platform/row-size.ts'

/** The rest of the row is for the turn. */
const maxMessageBytes = 1_350_000
/** Half of them from either end of a part. */
const maxPartChars = 100_000
const maxInstructionsChars = 10_000

/** Truncates a message to fit into a row. `text`: the entry as JSON. */
export function truncateForHistory(entry: Entry, text: string): Entry {
  if (fitsBytes(text, maxMessageBytes)) return entry
  for (let maxChars = maxPartChars; maxChars > 100; maxChars /= 2) {
    const shorter = { ...entry, message: truncateParts(entry.message, maxChars) }
    if (fitsBytes(JSON.stringify(shorter), maxMessageBytes)) return shorter
  }
  const content = [{ type: 'text', text: '[a message that was too large to store]' }]
  return { ...entry, message: { ...entry.message, content } as Message }
}

/** Truncates the instructions of a turn that does not fit into a row with the messages of its page. */
export function truncateTurnForHistory(turn: Turn, entries: readonly Entry[]): Turn {
  const { instructions = '' } = turn.options
  if (instructions.length <= maxInstructionsChars) return turn
  if (utf8Bytes(JSON.stringify(entries)) + utf8Bytes(JSON.stringify(turn)) <= maxPageBytes) return turn
  return { ...turn, options: { ...turn.options, instructions: truncateMiddle(instructions, maxInstructionsChars) } }
}

function truncateParts(message: Message, maxChars: number): Message {
  const content = message.content.map((part) => {
    if (part.type === 'text' || part.type === 'thinking') return { ...part, text: truncateMiddle(part.text, maxChars) }
    if (part.type === 'image') return { type: 'text', text: '[an image that was too large to store]' } as const
    const input = JSON.stringify(part.input)
    return input.length <= maxChars ? part : { ...part, input: { cut: truncateMiddle(input, maxChars) } }
  })
  return { ...message, content } as Message
}

function truncateMiddle(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text
  const half = Math.floor(maxChars / 2)
  const left = `[… ${text.length - 2 * half} characters were too many to store here …]`
  return `${text.slice(0, half)}\n${left}\n${text.slice(-half)}`.toWellFormed()
}
