/** Ends a turn that has no full answer, with a last message that explains why. */

import { type Failure, failureNoticeOpening, failureReasons } from '#agent/core/failure.ts'
import { type AssistantMessage, notice } from '#agent/core/message.ts'
import { type Commit, endTurn, stopOutcome, type Turn } from '#agent/core/turn.ts'

export function giveUp(turn: Turn, failure: Failure, now: number): Commit {
  const detail = failure.message ? ` (${failure.message})` : ''
  const tries =
    turn.notes.length > 1
      ? ` Tried before: ${turn.notes
          .map(({ did }) => did)
          .slice(-6)
          .join(', ')}.`
      : ''
  const text = `${failureNoticeOpening}${failureReasons[failure.kind]}${detail}.${tries} Nothing of the conversation is lost; you can try again.`
  return { turn: endTurn(turn, 'failed', now, failure), append: [withDraft(turn, notice(text))] }
}

/** Keeps the text of a call that a stop or a new message cancelled. The turn ends, or goes on with the new message. */
export function endCancelledCall(turn: Turn, partial: string | undefined, now: number): Commit {
  if (turn.stage.at !== 'calling-model') return { turn: { ...turn, stage: { at: 'ready' } } }
  // The text stays as it was streamed: subscribers get the difference to it as one more delta.
  const text = `${turn.draft ?? ''}${partial ?? ''}`
  const message: AssistantMessage | undefined = text.trim()
    ? { role: 'assistant', content: [{ type: 'text', text }], stop: 'end' }
    : undefined
  const { draft: _draft, ...rest } = turn
  if (!turn.stopRequested) return { turn: { ...rest, stage: { at: 'ready' } }, append: message ? [message] : [] }
  return {
    turn: endTurn(rest, stopOutcome(rest), now),
    append: [message ?? notice('Stopped before there was an answer.')],
  }
}

/** Inserts the text of an unfinished answer before the message. */
export const withDraft = ({ draft }: Turn, message: AssistantMessage): AssistantMessage =>
  draft ? { ...message, content: [{ type: 'text', text: `${draft}\n\n` }, ...message.content] } : message
