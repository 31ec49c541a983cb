/**
 * What to do about a failure. The table is the policy: for every kind of failure, the remedies to try,
 * in order. Fallback is for the turn: the next one begins with the first model again.
 */

import type { FailureKind } from '../model/failure.ts'
import type { Turn } from '../model/turn.ts'
import { timesUsed } from '../model/turn.ts'
import { addUsage } from '../model/usage.ts'
import { cancelled, giveUp } from './ending.ts'
import type { Verdict } from './policy.ts'
import { ceiling } from './pressure.ts'
import {
  again,
  compress,
  compressOlder,
  leaveOutImages,
  leaveOutThinking,
  lessOutput,
  nextKey,
  nextModel,
  noLongContext,
  plainSchemas,
  reconnect,
  type Remedy,
  sameKeyOnce,
  shrinkImages,
  textResults,
  unlessMute,
  wait,
  waitLonger,
  waitTwice,
} from './remedies.ts'

const remedies: Record<FailureKind, readonly Remedy[]> = {
  auth: [nextKey, nextModel],
  'key-dead': [nextKey, nextModel],
  forbidden: [nextModel],
  quota: [nextKey, nextModel],
  rate: [sameKeyOnce, nextKey, nextModel, wait],
  'upstream-rate': [nextModel, wait],
  overloaded: [waitTwice, nextModel, wait],
  server: [wait, nextModel],
  network: [reconnect, wait, nextModel],
  stalled: [unlessMute(reconnect), nextModel, unlessMute(wait)],
  tls: [],
  conflict: [waitTwice, nextModel],
  malformed: [nextModel, waitLonger],
  'too-long': [compress, nextModel],
  'too-large': [shrinkImages, compressOlder, leaveOutImages, nextModel],
  'image-too-large': [shrinkImages, leaveOutImages],
  'long-context-tier': [noLongContext, compress, nextModel],
  'output-cap': [lessOutput, nextModel],
  'missing-model': [nextModel],
  refused: [nextModel],
  'account-policy': [],
  'tool-content': [textResults, nextModel],
  'thinking-signature': [leaveOutThinking, nextModel],
  'encrypted-reasoning': [leaveOutThinking, nextModel],
  grammar: [plainSchemas, nextModel],
  'long-context-beta': [noLongContext, nextModel],
  // An image that no model takes would make every later turn fail as well.
  invalid: [leaveOutImages, nextModel],
  interrupted: [again],
  aborted: [],
  unconfigured: [nextModel],
  unknown: [wait, nextModel],
}

/** Two models that both decline have said it: a third is not asked. */
const declined = (turn: Turn, kind: FailureKind) => kind === 'refused' && timesUsed(turn, 'refused') > 1

export const recover: Verdict = (turn, result, view) => {
  if (result.of !== 'failure') return undefined
  const { failure, partial, usage, key } = result
  const paid = counted(usage ? { ...turn, usage: addUsage(turn.usage, usage) } : turn, failure.kind)
  if (failure.kind === 'aborted') return cancelled(paid, partial, view.now)
  // A failed summary is no reason to lose the turn: go on without, the provider will say if it does not fit.
  if (turn.stage.at === 'compressing' && failure.kind !== 'interrupted')
    return { turn: { ...paid, used: { ...paid.used, compress: ceiling }, stage: { at: 'ready' } } }
  for (const remedy of declined(paid, failure.kind) ? [] : remedies[failure.kind]) {
    const next = remedy(paid, { failure, key }, view)
    if (next) return { turn: restarted(next, turn, failure.kind, partial) }
  }
  return giveUp(paid, failure, view.now)
}

const counted = (turn: Turn, kind: FailureKind): Turn => ({
  ...turn,
  used: { ...turn.used, [kind]: timesUsed(turn, kind) + 1 },
})

/** Whoever saw the beginning of an answer has to hear that another one is coming. A kept draft goes on instead. */
function restarted(next: Turn, before: Turn, kind: FailureKind, partial: string | undefined): Turn {
  const seen = Boolean(partial) || (kind === 'interrupted' && before.stage.at === 'calling-model')
  return seen ? { ...next, restarts: { count: before.restarts.count + 1, reason: kind } } : next
}
