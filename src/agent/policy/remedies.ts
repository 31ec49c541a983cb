/**
 * Defines the remedies for a failed call. Each has a maximum number of uses. A remedy that is used up returns undefined,
 * and the table in recover.ts goes on with the next one.
 */

import type { Failure } from '../model/failure.ts'
import type { View } from '../model/ports.ts'
import { describeRestart, addNote, type Repairs, countUse, timesUsed, type Turn } from '../model/turn.ts'
import { isTimeOver } from './time-limit.ts'
import { maxCompressions } from './compress-context.ts'
import type { OnEnter } from './policy.ts'

/** `key`: the name of the key of the call. */
export type FailedCall = { readonly failure: Failure; readonly key?: string | undefined }
export type Remedy = (turn: Turn, trouble: FailedCall, view: View) => Turn | undefined

const ready = { at: 'ready' } as const
/** The longest pause that a provider can ask for. */
const maxRetryAfterMs = 600_000

type Backoff = { readonly base: number; readonly cap: number; readonly times: number }
const standard: Backoff = { base: 2_000, cap: 60_000, times: 3 }
const slow: Backoff = { base: 5_000, cap: 120_000, times: 3 }

const waitUpTo =
  ({ base, cap, times }: Backoff): Remedy =>
  (turn, { failure }, view) => {
    const { attempt, model } = turn.route
    // Some providers are overloaded for minutes without sending a retry time.
    const step = failure.kind === 'overloaded' ? view.chain[model]?.overloadMs : undefined
    if (attempt >= times) return undefined
    const own = step ? step * (attempt + 1) : Math.min(base * 2 ** attempt, cap) * (1 + view.random / 2)
    const delay = Math.round(failure.retryAfterMs === undefined ? own : Math.min(failure.retryAfterMs, maxRetryAfterMs))
    const until = view.now + delay
    if (turn.waited + delay > view.limits.maxWaitMs || isTimeOver(turn, view, until)) return undefined
    const waited = { ...turn, waited: turn.waited + delay, route: { ...turn.route, attempt: attempt + 1 } }
    return addNote(
      { ...waited, stage: { at: 'waiting', since: view.now, until, why: failure.kind } },
      view.now,
      `wait ${delay} ms`,
      failure.kind,
    )
  }

/** Takes back the rest of a wait that ends early. */
export const refundUnusedWait: OnEnter = (turn, _step, { now }) => {
  const { stage, waited } = turn
  if (stage.at !== 'waiting' || now >= stage.until) return turn
  return { ...turn, waited: waited - (stage.until - Math.max(now, stage.since)) }
}

/** Waits up to three times on one model, with growing pauses or the pause that the provider asks for. */
export const wait = waitUpTo(standard)
/** Waits with longer pauses, for a model that sends unusable answers. */
export const waitSlowly = waitUpTo(slow)
/** Waits twice, before another model is asked. */
export const waitTwice = waitUpTo({ ...standard, times: 2 })
/** Waits once on the same key, because most rate limits end soon. Passes when the provider asks for a long pause. */
export const waitOnce: Remedy = (turn, trouble, view) =>
  (trouble.failure.retryAfterMs ?? 0) > 30_000 ? undefined : waitUpTo({ ...standard, times: 1 })(turn, trouble, view)

/** Repeats a step that the death of the object interrupted, at once. Stops after three deaths without progress. */
export const repeatStep: Remedy = (turn, _trouble, view) =>
  turn.deaths.here < 3 && turn.deaths.total < 1_000
    ? addNote({ ...turn, stage: ready }, view.now, 'repeat', describeRestart(turn))
    : undefined

/** Reconnects at once after a broken stream, twice. After the time limit of the turn, only the final call reconnects. */
export const reconnect: Remedy = (turn, { failure }, view) => {
  const isOver = isTimeOver(turn, view, view.now)
  if (isOver ? turn.guard.halted !== undefined : timesUsed(turn, 'reconnect') >= 2) return undefined
  return addNote({ ...countUse(turn, 'reconnect'), stage: ready }, view.now, 'reconnect', failure.kind)
}

/** Idle timeouts in a row, over all turns, after which a model is not asked again: each costs minutes. */
const maxStallsInARow = 5
export const unlessStalled =
  (remedy: Remedy): Remedy =>
  (turn, trouble, view) =>
    view.stallsInARow >= maxStallsInARow ? undefined : remedy(turn, trouble, view)

export const nextKey: Remedy = (turn, { failure, key }, view) => {
  const keys = view.chain[turn.route.model]?.keys ?? []
  const avoid = key === undefined ? turn.route.avoid : [...turn.route.avoid, key]
  if (!keys.some((one) => !avoid.includes(one))) return undefined
  return addNote(
    { ...turn, route: { ...turn.route, avoid, attempt: 0 }, stage: ready },
    view.now,
    'next key',
    failure.kind,
  )
}

/** Falls back to the next model with a usable key; every model once per turn. */
export const nextModel: Remedy = (turn, { failure }, view) => {
  const next = usableFrom(turn, view, turn.route.model + 1)
  if (next === undefined) return undefined
  const moved = { ...turn, route: { ...turn.route, model: next, attempt: 0 }, stage: ready }
  return addNote(moved, view.now, `fall back to ${view.chain[next]?.id ?? 'the next model'}`, failure.kind)
}

/** Skips models without a usable key before a model call. Without any such model the route stays. */
export const selectUsableModel: OnEnter = (turn, step, view) => {
  if (step.do !== 'call-model') return turn
  return { ...turn, route: { ...turn.route, model: usableFrom(turn, view, turn.route.model) ?? turn.route.model } }
}

function usableFrom({ route: { avoid } }: Turn, { chain }: View, from: number): number | undefined {
  const next = chain.findIndex(({ keys }, index) => index >= from && keys.some((key) => !avoid.includes(key)))
  return next < 0 ? undefined : next
}

export const compress: Remedy = (turn, { failure }, view) => {
  if (timesUsed(turn, 'compress') >= maxCompressions || !view.limits.compression.enabled) return undefined
  return addNote(
    { ...countUse(turn, 'compress'), stage: { at: 'compressing', since: view.now } },
    view.now,
    'compress',
    failure.kind,
  )
}

/** Compresses only when there are earlier messages. A single message that is too large has none. */
export const compressOlder: Remedy = (turn, trouble, view) =>
  view.messageCount > 1 ? compress(turn, trouble, view) : undefined

const repair =
  (name: string, repairs: Repairs): Remedy =>
  (turn, { failure }, view) =>
    timesUsed(turn, name) > 0
      ? undefined
      : addNote(
          { ...countUse(turn, name), repairs: { ...turn.repairs, ...repairs }, stage: ready },
          view.now,
          name,
          failure.kind,
        )

export const leaveOutImages: Remedy = (turn, trouble, view) =>
  view.hasImages ? repair('leave out images', { images: 'left-out' })(turn, trouble, view) : undefined
/** Makes images smaller, where the deployment can do so. */
export const shrinkImages: Remedy = (turn, trouble, view) =>
  view.hasImages && view.canShrinkImages
    ? repair('shrink images', { imageSize: 'small' })(turn, trouble, view)
    : undefined
export const leaveOutThinking = repair('leave out thinking', { thinking: 'left-out' })
export const plainSchemas = repair('plain schemas', { schemas: 'plain' })
export const resultsAsText = repair('results as text', { toolContent: 'text' })
export const noLongContext = repair('no long context', { longContext: 'off' })

/** Requests slightly less output than the provider allows. */
export const lessOutput: Remedy = (turn, { failure }, view) => {
  const available = (failure.available ?? 0) - 64
  if (available <= 0 || timesUsed(turn, 'less output') >= 2) return undefined
  const repairs = { ...turn.repairs, maxTokens: available }
  return addNote(
    { ...countUse(turn, 'less output'), repairs, stage: ready },
    view.now,
    `ask for ${available} tokens`,
    failure.kind,
  )
}
