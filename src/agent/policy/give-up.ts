/** Ends a turn that has no full answer, with a last message that explains why. */

import type { Failure, FailureKind } from '../model/failure.ts'
import { type AssistantMessage, notice } from '../model/message.ts'
import { type Commit, endTurn, stopOutcome, type Turn } from '../model/turn.ts'

const reasons: Record<FailureKind, string> = {
  auth: 'the provider refused the API key',
  'key-dead': 'the API key has been revoked',
  forbidden: 'the API key may not use this model',
  quota: 'the account at the provider has no credit or quota left',
  rate: 'the provider limits the rate of requests and did not recover in time',
  'upstream-rate': 'the model is limited at its provider for everybody at the moment',
  overloaded: 'the provider is overloaded and did not recover in time',
  server: 'the provider keeps failing inside',
  network: 'the connection to the provider kept failing',
  stalled: 'the provider kept sending nothing',
  tls: 'the certificate of the provider does not hold, so nothing was sent',
  conflict: 'the provider kept reporting a conflict with another request',
  malformed: 'the model kept sending answers that could not be used',
  'too-long': 'the conversation no longer fits into the context window, even compressed',
  'too-large':
    'the request is too large for the provider, and nothing in it could be made smaller: send it in smaller parts',
  'image-too-large': 'an image is too large for the model',
  'long-context-tier': 'the account may not use a context of this length',
  'output-cap': 'the model may not write as much as was asked for',
  'missing-model': 'the provider does not have this model',
  refused: 'the model declined to answer',
  'account-policy': 'the privacy or guardrail settings of the provider account exclude this model',
  'tool-content': 'the model cannot read results of this form',
  'thinking-signature': 'the provider did not accept the earlier thinking of the conversation',
  'encrypted-reasoning': 'the provider did not accept the earlier reasoning of the conversation',
  grammar: 'the server cannot use the schema of a tool',
  'long-context-beta': 'the account may not use the long context',
  invalid: 'the provider rejected the request',
  interrupted: 'the system restarted again and again at the same step',
  aborted: 'the call was cancelled',
  unconfigured: 'none of the models that are named can be asked',
  limit: 'a spending limit is reached',
  unpriced: 'a limit in USD is set, and the price of the model is unknown',
  'no-stream': 'the model cannot stream its answers, and could not be asked without streaming',
  'no-images': 'the model cannot see images',
  unknown: 'the provider kept failing',
}

export function giveUp(turn: Turn, failure: Failure, now: number): Commit {
  const detail = failure.message ? ` (${failure.message})` : ''
  const tries =
    turn.notes.length > 1
      ? ` Tried before: ${turn.notes
          .map(({ did }) => did)
          .slice(-6)
          .join(', ')}.`
      : ''
  const text = `I could not finish this: ${reasons[failure.kind]}${detail}.${tries} Nothing of the conversation is lost; you can try again.`
  return { turn: endTurn(turn, 'failed', now, failure), append: [withDraft(turn, notice(text))] }
}

/** Keeps the text of a call that a stop or a new message cancelled. The turn ends, or goes on with the new message. */
export function endCancelledCall(turn: Turn, partial: string | undefined, now: number): Commit {
  if (turn.stage.at !== 'calling-model') return { turn: { ...turn, stage: { at: 'ready' } } }
  const text = `${turn.draft ?? ''}${partial ?? ''}`.trim()
  const message: AssistantMessage | undefined = text
    ? { role: 'assistant', content: [{ type: 'text', text }], stop: 'end' }
    : undefined
  const { draft: _draft, ...rest } = turn
  if (!turn.stopRequested) return { turn: { ...rest, stage: { at: 'ready' } }, append: message ? [message] : [] }
  return {
    turn: endTurn(rest, stopOutcome(rest), now),
    append: [message ?? notice('Stopped before there was an answer.')],
  }
}

/** Puts the text of an unfinished answer before the message. */
export const withDraft = ({ draft }: Turn, message: AssistantMessage): AssistantMessage =>
  draft ? { ...message, content: [{ type: 'text', text: `${draft}\n\n` }, ...message.content] } : message
