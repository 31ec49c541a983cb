/**
 * Defines the remedies for a failed call. Each has a maximum number of uses. A remedy that is used up returns undefined,
 * and the table in recover.ts goes on with the next one.
 */

import type { Failure } from '#agent/core/failure.ts'
import type { View } from '#agent/core/ports.ts'
import { addNote, countUse, describeRestart, type Repairs, timesUsed, type Turn } from '#agent/core/turn.ts'
import { canCompressAfterOverflow } from './compress-context.ts'
import { isTimeOver } from './time-limit.ts'
import { findUsableModel, moveToModel } from './usable-model.ts'

/** `key`: the name of the key of the call. */
export type FailedCall = { readonly failure: Failure; readonly key?: string | undefined }
export type Remedy = (turn: Turn, call: FailedCall, view: View) => Turn | undefined

const ready = { at: 'ready' } as const
/** The longest pause that a provider can ask for. */
const maxRetryAfterMs = 600_000

type Backoff = {
  readonly baseMs: number
  readonly maxMs: number
  readonly maxAttempts: number
  /** Of the model in all, with the remedies that follow. Default: one more than there are attempts. */
  readonly calls?: number
}
const standard: Backoff = { baseMs: 2_000, maxMs: 60_000, maxAttempts: 3 }
const slow: Backoff = { baseMs: 5_000, maxMs: 120_000, maxAttempts: 3 }

const waitUpTo =
  ({ baseMs, maxMs, maxAttempts, calls = maxAttempts + 1 }: Backoff): Remedy =>
  (turn, { failure }, view) => {
    const { attempt, model } = turn.route
    // Some providers are overloaded for minutes without sending a retry time.
    const overloadMs = failure.kind === 'overloaded' ? view.chain[model]?.overloadMs : undefined
    if (attempt >= maxAttempts) return undefined
    const backoffMs = overloadMs
      ? overloadMs * (attempt + 1)
      : Math.min(baseMs * 2 ** attempt, maxMs) * (1 + view.random / 2)
    const delayMs = Math.round(
      failure.retryAfterMs === undefined ? backoffMs : Math.min(failure.retryAfterMs, maxRetryAfterMs),
    )
    const until = view.now + delayMs
    if (delayMs > (turn.options.maxPauseMs ?? Infinity)) return undefined
    if (turn.waited + delayMs > view.limits.maxWaitMs || isTimeOver(turn, view, until)) return undefined
    const waited = { ...turn, waited: turn.waited + delayMs, route: { ...turn.route, attempt: attempt + 1 } }
    return addNote(
      {
        ...waited,
        stage: { at: 'waiting', since: view.now, until, why: failure.kind, next: [attempt + 2, calls] },
      },
      view.now,
      `wait ${delayMs} ms`,
      failure.kind,
    )
  }

/** Waits up to three times on one model, with growing pauses or the pause that the provider asks for. */
export const wait = waitUpTo(standard)
/** Waits with longer pauses, for a model that sends unusable answers. */
export const waitSlowly = waitUpTo(slow)
/** Waits twice. */
export const waitTwice = waitUpTo({ ...standard, maxAttempts: 2 })
/** Waits twice, before another model is asked, or this one once more. */
export const waitTwiceFirst = waitUpTo({ ...standard, maxAttempts: 2, calls: standard.maxAttempts + 1 })
/** Waits once on the same key, because most rate limits end soon. Passes when the provider asks for a long pause. */
export const waitOnce: Remedy = (turn, call, view) =>
  (call.failure.retryAfterMs ?? 0) > 30_000
    ? undefined
    : waitUpTo({ ...standard, maxAttempts: 1, calls: standard.maxAttempts + 1 })(turn, call, view)

/** Repeats a step that a crash of the object interrupted, at once. Stops after three crashes without progress. */
export const repeatStep: Remedy = (turn, _call, view) =>
  turn.crashes.here < 3 && turn.crashes.total < 1_000
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
  (turn, call, view) =>
    view.stallsInARow >= maxStallsInARow ? undefined : remedy(turn, call, view)

export const nextKey: Remedy = (turn, { failure, key }, view) => {
  const keys = view.chain[turn.route.model]?.keys ?? []
  const avoid = key === undefined ? turn.route.avoid : [...turn.route.avoid, key]
  if (!keys.some((name) => !avoid.includes(name))) return undefined
  return addNote(
    { ...turn, route: { ...turn.route, avoid, attempt: 0 }, stage: ready },
    view.now,
    'next key',
    failure.kind,
  )
}

/** Falls back to the next model with a usable key; every model once per turn. */
export const nextModel: Remedy = (turn, { failure }, view) => {
  const next = findUsableModel(turn, view, turn.route.model + 1)
  if (next === undefined) return undefined
  const { route, ...rest } = moveToModel(turn, view, next, failure.kind)
  const moved: Turn = { ...rest, route: { ...route, attempt: 0 }, stage: ready }
  return addNote(moved, view.now, `fall back to ${view.chain[next]?.id ?? 'the next model'}`, failure.kind)
}

export const compress: Remedy = (turn, { failure }, view) => {
  if (!canCompressAfterOverflow(turn, view)) return undefined
  return addNote(
    { ...countUse(turn, 'compress'), stage: { at: 'compressing', since: view.now } },
    view.now,
    'compress',
    failure.kind,
  )
}

/** Compresses only when there are earlier messages. A single message that is too large has none. */
export const compressOlder: Remedy = (turn, call, view) =>
  view.messageCount > 1 ? compress(turn, call, view) : undefined

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

/** Sends PDF files as their text: the provider may refuse such a file, or it fills the context. */
export const pdfsAsText: Remedy = (turn, call, view) =>
  view.sendsPdfs ? repair('pdf files as text', { pdfs: 'text' })(turn, call, view) : undefined
export const leaveOutImages: Remedy = (turn, call, view) =>
  view.hasImages ? repair('leave out images', { images: 'left-out' })(turn, call, view) : undefined
/** Makes images smaller, where the deployment can do so. */
export const shrinkImages: Remedy = (turn, call, view) =>
  view.hasImages && view.canShrinkImages ? repair('shrink images', { imageSize: 'small' })(turn, call, view) : undefined
/** Replaces images by a note that the model cannot see them. */
export const hideImages: Remedy = (turn, call, view) =>
  view.hasImages ? repair('hide images', { images: 'unseen' })(turn, call, view) : undefined
/** Asks for the whole answer at once. */
export const withoutStreaming = repair('ask without streaming', { stream: 'off' })
export const leaveOutThinking = repair('leave out thinking', { thinking: 'left-out' })
export const plainSchemas = repair('plain schemas', { schemas: 'plain' })
export const resultsAsText = repair('results as text', { toolContent: 'text' })
export const noLongContext = repair('no long context', { longContext: 'off' })

/** Asks for the format of the answer in the system text, for an API that refuses it or the schema. */
export const tellAnswerFormat: Remedy = (turn, call, view) =>
  turn.options.answerFormat ? repair('tell the format', { answerFormat: 'told' })(turn, call, view) : undefined
/** Drops the parameters that the client set. The notes of the run name this. */
export const leaveOutParameters: Remedy = (turn, call, view) =>
  turn.options.parameters || turn.options.temperature !== undefined
    ? repair('leave out parameters', { parameters: 'left-out' })(turn, call, view)
    : undefined

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
