/**
 * Requires the format that the request names. An answer that does not match is asked for once more, without tools and
 * with what is wrong; it is never stored in the transcript. A second mismatch fails the turn.
 */

import { callsIn, thinkingIn, type AssistantMessage } from '#agent/core/message.ts'
import { addNote, type CheckedAnswer, countUse, timesUsed } from '#agent/core/turn.ts'
import { isSpent } from './budget.ts'
import { giveUp } from './give-up.ts'
import type { BeforeModel, OnReply } from './policy.ts'

const repairUse = 'repair the format'
/** Characters of the answer that the model sees again. */
const maxShownChars = 30_000
/** Characters of the answer in the failure. */
const maxQuotedChars = 200

export const requireAnswerFormat: OnReply = ({ turn, reply, checked }, view) => {
  if (!checked || callsIn(reply).length) return undefined
  const answer = withText(reply, checked.text)
  // A new message asks for another answer, and after the last step there is no other.
  if (!checked.problems.length || view.inbox.length || isSpent(turn)) return { reply: answer }
  const problems = checked.problems.join('; ')
  if (timesUsed(turn, repairUse) > 0) {
    const message = `${problems}; it began with ${JSON.stringify(checked.text.slice(0, maxQuotedChars))}`
    return { commit: giveUp(turn, { kind: 'invalid-output', message }, view.now) }
  }
  const noted = addNote(countUse(turn, repairUse), view.now, repairUse, problems)
  // The thinking was streamed, the text was not.
  const restarts = thinkingIn(reply) ? { count: turn.restarts.count + 1, reason: repairUse } : turn.restarts
  return { commit: { turn: { ...noted, restarts, stage: { at: 'ready' }, nextInstruction: renderRepair(checked) } } }
}

/** Makes the repair without tools: more APIs enforce a format then. */
export const answerWithoutTools: BeforeModel = (turn) =>
  turn.nextInstruction !== undefined && timesUsed(turn, repairUse) > 0
    ? { do: 'call-model', tools: false, instruction: turn.nextInstruction }
    : undefined

const renderRepair = ({ text, problems }: CheckedAnswer): string =>
  [
    'Your answer does not have the required format:',
    ...problems.map((problem) => `- ${problem}`),
    'Send the whole answer again as JSON in the required format, and nothing else. This was your answer:',
    text.slice(0, maxShownChars),
  ].join('\n')

/** Replaces all text of the reply. */
function withText(reply: AssistantMessage, text: string): AssistantMessage {
  const others = reply.content.filter(({ type }) => type !== 'text')
  return { ...reply, content: [...others, { type: 'text', text }] }
}
