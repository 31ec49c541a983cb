/**
 * A message that no row of D1 can hold is stored there without its middle. The session keeps all of it;
 * what is lost is lost only when the object is too, and it must not keep the rest from being stored.
 */

import type { Entry } from '../../agent/model/history.ts'
import type { Message } from '../../agent/model/message.ts'
import type { Turn } from '../../agent/model/turn.ts'
import { maxPageBytes } from '../../db/page-row.ts'
import { bytesOf, fits } from '../platform/row-size.ts'

/** Bytes of one message: the rest of the row is the turn's. */
const mostOfMessage = 1_350_000
/** Characters kept of each part, half from either end. */
const kept = 100_000
const keptInstructions = 10_000

/** `text`: the entry as JSON. */
export function truncateForHistory(entry: Entry, text: string): Entry {
  if (fits(text, mostOfMessage)) return entry
  for (let room = kept; room > 100; room /= 2) {
    const shorter = { ...entry, message: cut(entry.message, room) }
    if (fits(JSON.stringify(shorter), mostOfMessage)) return shorter
  }
  const content = [{ type: 'text', text: '[a message that was too large to store]' }]
  return { ...entry, message: { ...entry.message, content } as Message }
}

/** A turn that finds no room beside the messages of its page is stored without the middle of its instructions. */
export function truncateTurnForHistory(turn: Turn, entries: readonly Entry[]): Turn {
  const { instructions = '' } = turn.options
  if (instructions.length <= keptInstructions) return turn
  if (bytesOf(JSON.stringify(entries)) + bytesOf(JSON.stringify(turn)) <= maxPageBytes) return turn
  return { ...turn, options: { ...turn.options, instructions: withoutMiddle(instructions, keptInstructions) } }
}

function cut(message: Message, room: number): Message {
  const content = message.content.map((part) => {
    if (part.type === 'text' || part.type === 'thinking') return { ...part, text: withoutMiddle(part.text, room) }
    if (part.type === 'image') return { type: 'text', text: '[an image that was too large to store]' } as const
    const input = JSON.stringify(part.input)
    return input.length <= room ? part : { ...part, input: { cut: withoutMiddle(input, room) } }
  })
  return { ...message, content } as Message
}

function withoutMiddle(text: string, room: number): string {
  if (text.length <= room) return text
  const half = Math.floor(room / 2)
  const left = `[… ${text.length - 2 * half} characters were too many to store here …]`
  return `${text.slice(0, half)}\n${left}\n${text.slice(-half)}`.toWellFormed()
}
