/**
 * Recovers from a failed call. The table lists the remedies for every kind of failure, in the order in which they are
 * tried. A fallback to another model holds for the turn: the next turn begins with the first model again.
 */

import type { Failure, FailureKind } from '#agent/core/failure.ts'
import type { View } from '#agent/core/ports.ts'
import { type Commit, type Result, timesUsed, type Turn } from '#agent/core/turn.ts'
import { addUsage } from '#agent/core/usage.ts'
import { endCancelledCall, giveUp } from './give-up.ts'
import type { AfterEffect } from './policy.ts'
import { maxCompressions } from './compress-context.ts'
import {
  repeatStep,
  compress,
  compressOlder,
  hideImages,
  leaveOutImages,
  leaveOutParameters,
  leaveOutThinking,
  lessOutput,
  nextKey,
  nextModel,
  noLongContext,
  plainSchemas,
  reconnect,
  type Remedy,
  waitOnce,
  shrinkImages,
  tellAnswerFormat,
  pdfsAsText,
  resultsAsText,
  unlessStalled,
  wait,
  waitSlowly,
  waitTwice,
  waitTwiceFirst,
  withoutStreaming,
} from './remedies.ts'

const remedies: Record<FailureKind, readonly Remedy[]> = {
  auth: [nextKey, nextModel],
  'key-dead': [nextKey, nextModel],
  forbidden: [nextModel],
  quota: [nextKey, nextModel],
  rate: [waitOnce, nextKey, nextModel, wait],
  'upstream-rate': [nextModel, wait],
  overloaded: [waitTwiceFirst, nextModel, wait],
  server: [wait, nextModel],
  network: [reconnect, wait, nextModel],
  stalled: [unlessStalled(reconnect), nextModel, unlessStalled(wait)],
  tls: [],
  conflict: [waitTwice, nextModel],
  malformed: [nextModel, waitSlowly],
  'too-long': [pdfsAsText, compress, nextModel],
  'too-large': [pdfsAsText, shrinkImages, compressOlder, leaveOutImages, nextModel],
  'image-too-large': [shrinkImages, leaveOutImages],
  'long-context-tier': [noLongContext, compress, nextModel],
  'output-cap': [lessOutput, nextModel],
  'missing-model': [nextModel],
  refused: [nextModel],
  'account-policy': [],
  'tool-content': [resultsAsText, nextModel],
  'thinking-signature': [leaveOutThinking, nextModel],
  'encrypted-reasoning': [leaveOutThinking, nextModel],
  grammar: [tellAnswerFormat, plainSchemas, nextModel],
  'long-context-beta': [noLongContext, nextModel],
  // An image that every model rejects would make every later turn fail too.
  invalid: [pdfsAsText, tellAnswerFormat, leaveOutParameters, leaveOutImages, nextModel],
  // The policy `requireAnswerFormat` has asked again.
  'invalid-output': [],
  'too-many-calls': [],
  interrupted: [repeatStep],
  aborted: [],
  unconfigured: [nextModel],
  // `settleRefusedCall` comes first.
  limit: [],
  unpriced: [nextModel],
  'no-stream': [withoutStreaming, nextModel],
  'no-images': [pdfsAsText, hideImages, leaveOutImages, nextModel],
  unknown: [wait, nextModel],
}

/** A third model is not asked after two have declined. */
const hasDeclinedTwice = (turn: Turn, kind: FailureKind) => kind === 'refused' && timesUsed(turn, 'refused') > 1

export const recover: AfterEffect = ({ turn, result }, view) =>
  result.of === 'failure' ? { commit: recoverFrom(result, turn, view) } : undefined

function recoverFrom(
  { failure, partial, usage, key }: Extract<Result, { of: 'failure' }>,
  turn: Turn,
  view: View,
): Commit {
  const billed = counted(usage ? { ...turn, usage: addUsage(turn.usage, usage) } : turn, failure.kind)
  if (failure.kind === 'aborted') return endCancelledCall(billed, partial, view.now)
  // A failed summary does not end the turn: it goes on without one, and a context that is too long fails at the provider.
  if (turn.stage.at === 'compressing' && failure.kind !== 'interrupted')
    return { turn: { ...billed, used: { ...billed.used, compress: maxCompressions }, stage: { at: 'ready' } } }
  for (const remedy of hasDeclinedTwice(billed, failure.kind) ? [] : remedies[failure.kind]) {
    const next = remedy(billed, { failure, key }, view)
    if (next) return { turn: countRestart(next, turn, failure.kind, partial) }
  }
  return giveUp(billed, withRetryTime(failure, billed, view), view.now)
}

/** Some providers are overloaded for a known time and do not say so. */
function withRetryTime(failure: Failure, { route }: Turn, { chain }: View): Failure {
  const overloadMs = failure.kind === 'overloaded' ? chain[route.model]?.overloadMs : undefined
  return overloadMs === undefined || failure.retryAfterMs !== undefined
    ? failure
    : { ...failure, retryAfterMs: overloadMs }
}

const counted = (turn: Turn, kind: FailureKind): Turn => ({
  ...turn,
  used: { ...turn.used, [kind]: timesUsed(turn, kind) + 1 },
})

/** Counts a restart when clients got a part of the answer, so that an event announces its end. A draft continues instead. */
function countRestart(next: Turn, before: Turn, kind: FailureKind, partial: string | undefined): Turn {
  const isSeen = Boolean(partial) || (kind === 'interrupted' && before.stage.at === 'calling-model')
  return isSeen ? { ...next, restarts: { count: before.restarts.count + 1, reason: kind } } : next
}
