/** Counts a complete reply as progress, and joins it to the draft that it continues. */

import { textIn } from '#agent/core/message.ts'
import { countProgress } from '#agent/core/turn.ts'
import type { OnReply } from './policy.ts'

export const completeReply: OnReply = ({ turn, reply, usage }) => {
  const { draft, fallbackAnswer: _fallback, ...rest } = countProgress(turn, usage)
  if (!draft) return { turn: rest }
  const others = reply.content.filter(({ type }) => type !== 'text')
  return { turn: rest, reply: { ...reply, content: [{ type: 'text', text: draft + textIn(reply) }, ...others] } }
}
