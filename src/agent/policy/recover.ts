/**
 * What to do about a failure. The table is the policy: for every kind of failure, the remedies to
 * try, in order. A remedy that has run out (no more keys, no more models, no more patience) passes.
 */

import type { Failure, FailureKind } from '../model/failure.ts'
import { notice } from '../model/message.ts'
import type { View } from '../model/ports.ts'
import type { Commit, Turn } from '../model/turn.ts'
import { addUsage } from '../model/usage.ts'
import type { Verdict } from './policy.ts'
import { ceiling } from './pressure.ts'

type Remedy = (turn: Turn, failure: Failure, view: View) => Turn | undefined

/** Attempts on one model before it is given up. */
const patience = 4
/** Deaths of the object at one and the same step, and in one turn, before the turn is given up. */
const deathsHere = 5
const deathsInAll = 1_000

const backoff = { base: 2_000, cap: 60_000, told: 600_000 } as const

const wait: Remedy = (turn, failure, view) => {
  const attempt = turn.route.attempt + 1
  if (attempt >= patience) return undefined
  const own = Math.min(backoff.base * 2 ** (attempt - 1), backoff.cap) * (1 + view.dice / 2)
  const delay = failure.retryAfterMs === undefined ? own : Math.min(failure.retryAfterMs, backoff.told)
  return {
    ...turn,
    route: { ...turn.route, attempt },
    stage: { at: 'waiting', until: view.now + Math.round(delay), why: failure.kind },
  }
}

/** Right away, without counting against the model: it was us who went away. */
const again: Remedy = (turn) =>
  turn.deaths.here < deathsHere && turn.deaths.total < deathsInAll ? { ...turn, stage: { at: 'ready' } } : undefined

const nextKey: Remedy = (turn, _failure, view) => {
  const key = turn.route.key + 1
  if (key >= (view.chain[turn.route.model] ?? 0)) return undefined
  return { ...turn, route: { ...turn.route, key, attempt: 0 }, stage: { at: 'ready' } }
}

const nextModel: Remedy = (turn, _failure, view) => {
  const model = turn.route.model + 1
  if (model >= view.chain.length) return undefined
  return { ...turn, route: { model, key: 0, attempt: 0 }, stage: { at: 'ready' } }
}

const compress: Remedy = (turn, _failure, view) =>
  turn.used.compressions < ceiling
    ? {
        ...turn,
        used: { ...turn.used, compressions: turn.used.compressions + 1 },
        stage: { at: 'compressing', since: view.now },
      }
    : undefined

const remedies: Record<FailureKind, readonly Remedy[]> = {
  auth: [nextKey, nextModel],
  quota: [nextKey, nextModel],
  rate: [nextKey, wait, nextModel],
  overloaded: [wait, nextModel],
  network: [wait, nextModel],
  'too-long': [compress, nextModel],
  'missing-model': [nextModel],
  refused: [nextModel],
  invalid: [nextModel],
  interrupted: [again],
  aborted: [],
  unconfigured: [nextModel],
  unknown: [wait, nextModel],
}

export const recover: Verdict = (turn, result, view) => {
  if (result.of !== 'failure') return undefined
  const { failure, partial, usage } = result
  const paid = usage ? { ...turn, usage: addUsage(turn.usage, usage) } : turn
  if (failure.kind === 'aborted') return aborted(paid, partial, view.now)
  // A failed summary is no reason to lose the turn: go on, the provider will say if it does not fit.
  const from = turn.stage.at === 'compressing' && failure.kind !== 'interrupted' ? pastCompressing(paid) : paid
  for (const remedy of remedies[failure.kind]) {
    const next = remedy(from, failure, view)
    if (next) return { turn: restarted(next, turn, failure, partial) }
  }
  return giveUp(paid, failure, view.now)
}

/** Whoever saw the beginning of an answer has to hear that another one is coming. */
function restarted(next: Turn, before: Turn, failure: Failure, partial: string | undefined): Turn {
  const seen = Boolean(partial) || (failure.kind === 'interrupted' && before.stage.at === 'calling-model')
  return seen ? { ...next, restarts: { count: before.restarts.count + 1, reason: failure.kind } } : next
}

const pastCompressing = (turn: Turn): Turn => ({ ...turn, used: { ...turn.used, compressions: ceiling } })

/** We cancelled the call: what was said of the answer stays, and the turn ends or listens to what is new. */
function aborted(turn: Turn, partial: string | undefined, now: number): Commit {
  if (turn.stage.at !== 'calling-model') return { turn: { ...turn, stage: { at: 'ready' } } }
  const text = partial?.trim()
  const append = text ? [{ role: 'assistant', content: [{ type: 'text', text }], stop: 'end' } as const] : []
  if (!turn.stopRequested) return { turn: { ...turn, stage: { at: 'ready' } }, append }
  return {
    turn: { ...turn, stage: { at: 'done', outcome: 'stopped', endedAt: now } },
    append: append.length ? append : [notice('Stopped before there was an answer.')],
  }
}

const reasons: Record<FailureKind, string> = {
  auth: 'the provider refused the API key',
  quota: 'the account at the provider has no credit or quota left',
  rate: 'the provider limits the rate of requests and did not recover in time',
  overloaded: 'the provider is overloaded and did not recover in time',
  network: 'the connection to the provider kept failing',
  'too-long': 'the conversation no longer fits into the context window, even compressed',
  'missing-model': 'the provider does not have this model',
  refused: 'the model declined to answer',
  invalid: 'the provider rejected the request',
  interrupted: 'the system restarted again and again at the same step',
  aborted: 'the call was cancelled',
  unconfigured: 'no model is configured: set a provider key such as OPENAI_API_KEY, or MODEL',
  unknown: 'the provider kept failing',
}

export function giveUp(turn: Turn, failure: Failure, now: number): Commit {
  const detail = failure.message && failure.kind !== 'unconfigured' ? ` (${failure.message})` : ''
  return {
    turn: { ...turn, stage: { at: 'done', outcome: 'failed', endedAt: now, failure } },
    append: [
      notice(
        `I could not finish this: ${reasons[failure.kind]}${detail}. Nothing of the conversation is lost; you can try again.`,
      ),
    ],
  }
}
