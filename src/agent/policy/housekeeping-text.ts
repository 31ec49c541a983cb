/**
 * Stores the text of a reply that calls only tools of the agent itself, such as `todo`. Models often give their answer
 * there and send an empty message afterwards: then this text is the answer.
 */

import { textIn } from '#agent/core/message.ts'
import type { OnReply } from './policy.ts'

const housekeepingTools: ReadonlySet<string> = new Set(['memory', 'learning', 'todo', 'skill_manage', 'session_search'])

export const rememberHousekeepingText: OnReply = ({ turn, reply, calls }) => {
  const text = textIn(reply).trim()
  const isHousekeeping = calls.length > 0 && calls.every(({ name }) => housekeepingTools.has(name))
  return text && isHousekeeping ? { turn: { ...turn, fallbackAnswer: text } } : undefined
}
