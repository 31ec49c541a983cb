/**
 * A message that no row of D1 can hold is stored there without its middle. The session keeps all of it;
 * what is lost is lost only when the object is too, and it must not keep the rest from being stored.
 */

import type { Entry } from '../agent/model/history.ts'
import type { Message } from '../agent/model/message.ts'

/** Characters of JSON that fit into a row whatever they are: up to three bytes each. */
const fits = 450_000
/** Characters kept of each part, half from either end. */
const kept = 100_000

/** `length`: characters of the entry as JSON. */
export const fitting = (entry: Entry, length: number): Entry =>
  length <= fits ? entry : { ...entry, message: cut(entry.message) }

function cut(message: Message): Message {
  const room = Math.max(1_000, Math.floor(Math.min(kept, (fits * 0.8) / message.content.length)))
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
