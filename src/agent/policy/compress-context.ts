/** Compresses the context before it exceeds the window, and limits compressions that fail or save little. */

import type { CompressionState } from '#agent/core/compression.ts'
import { type FailureKind, failureReasons } from '#agent/core/failure.ts'
import type { CompressionThresholds, LoopLimits, View } from '#agent/core/ports.ts'
import { addNote, type Result, timesUsed, type Turn, warningNote } from '#agent/core/turn.ts'
import type { AfterEffect, BeforeModel, OnReply } from './policy.ts'

/** Attempts between two replies of the model. */
export const maxCompressions = 3

/** A shorter transcript has nothing to compress. */
const minMessages = 4

/** Windows from this size on keep half of themselves free: answers get worse as a large window fills. */
const largeWindow = 512_000
const largeWindowShare = 0.5
const smallWindowShare = 0.75

/** A compression that saves less is poor. After two in a row none starts by itself. */
const minSaving = 0.1
const maxPoor = 2

/** No compression starts by itself for this long after the summary could not be requested. */
const pauseMs = 600_000

/** Returns the tokens at which the context is compressed. Recomputed for each call: the model may have changed. */
export function getThresholdTokens(limits: LoopLimits['compression'], contextWindow: number, modelId = ''): number {
  const own: CompressionThresholds = limits.models?.[modelId] ?? {}
  const standard = contextWindow < largeWindow ? smallWindowShare : largeWindowShare
  const share = own.threshold ?? limits.threshold ?? standard
  const tokens = own.thresholdTokens ?? limits.thresholdTokens ?? Infinity
  return Math.min(contextWindow * share, tokens)
}

export const compressContext: BeforeModel = (turn, view) =>
  isRequested(turn, view) || isNearlyFull(turn, view) ? { do: 'compress' } : undefined

type Test = (turn: Turn, view: View) => boolean

/** A person's request applies once, also when the settings switch compression off. */
const isRequested: Test = ({ compress }, { messageCount: messages }) =>
  compress !== undefined && messages >= minMessages

const isNearlyFull: Test = (turn, view) => {
  const { compression } = view.limits
  const tokens = promptTokens(turn, view)
  return (
    compression.enabled &&
    tokens >= getThresholdTokens(compression, view.contextWindow, modelOf(turn, view)) &&
    timesUsed(turn, 'compress') < maxCompressions &&
    !isPaused(turn, view) &&
    !isThrashing(turn, view) &&
    view.compressibleTokens() >= view.contextTokens * minSaving
  )
}

/** A context that the provider has refused is compressed whatever became of the last compressions: the turn fails otherwise. */
export const canCompressAfterOverflow: Test = (turn, view) =>
  view.limits.compression.enabled && timesUsed(turn, 'compress') < maxCompressions && view.compressibleTokens() > 0

const modelOf = ({ route }: Turn, { chain }: View): string => chain[route.model]?.id ?? ''

const isPaused: Test = ({ compression }, { now }) => now < (compression?.pausedUntil ?? 0)

/** Holds until the context shrinks, for example by an undo, or the model changes. */
const isThrashing: Test = (turn, view) => {
  const poor = turn.compression?.poor
  return (
    poor !== undefined &&
    poor.count >= maxPoor &&
    poor.model === modelOf(turn, view) &&
    view.contextTokens >= poor.tokens
  )
}

/** Corrects the estimate by what the provider counted last. */
function promptTokens(turn: Turn, view: View): number {
  const measured = turn.compression?.measured
  return measured?.model === modelOf(turn, view) ? view.contextTokens * measured.ratio : view.contextTokens
}

/** Other ratios are no counts of the whole prompt: some servers leave out what they have cached. */
const isPlausible = (ratio: number) => ratio >= 0.5 && ratio <= 3

/** Remembers how many tokens the provider counts in relation to the estimate, and allows compressions anew. */
export const measurePrompt: OnReply = ({ turn, promptTokens: counted = 0 }, view) => {
  const { compress: _attempts, ...used } = turn.used
  const ratio = counted / Math.max(1, view.contextTokens)
  const measured = isPlausible(ratio) && { measured: { model: modelOf(turn, view), ratio } }
  return { turn: { ...turn, used, ...(measured && { compression: { ...turn.compression, ...measured } }) } }
}

/** Judges what a compression has saved, and pauses compressions when the summary could not be requested. */
export const judgeCompression: AfterEffect = ({ turn, result }, view) => {
  if (turn.stage.at !== 'compressing') return undefined
  if (result.of === 'summary') return { turn: judgeSummary(turn, result, view) }
  if (result.of !== 'failure') return undefined
  const { kind } = result.failure
  // Nothing was compressible when a person asked: that says nothing about the next time.
  if (kind === 'too-long')
    return view.compressibleTokens() > 0 ? { turn: countPoor(turn, view, view.contextTokens) } : undefined
  return keepsMessages(kind) ? { turn: pause(turn, view, kind) } : undefined
}

function judgeSummary(turn: Turn, { savedTokens, fallback }: Extract<Result, { of: 'summary' }>, view: View): Turn {
  const judged =
    savedTokens < view.contextTokens * minSaving
      ? countPoor(turn, view, view.contextTokens - savedTokens)
      : resetCompression(turn)
  const why = fallback && `no summary could be written (${failureReasons[fallback]}): an excerpt replaces old messages`
  return why ? addNote(judged, view.now, warningNote, why) : judged
}

/** Forgets failed and poor compressions. What the provider counted stays. */
export function resetCompression({ compression, ...turn }: Turn): Turn {
  const { measured } = compression ?? {}
  return measured ? { ...turn, compression: { measured } } : turn
}

function countPoor(turn: Turn, view: View, tokens: number): Turn {
  const model = modelOf(turn, view)
  const earlier = turn.compression?.poor
  const count = earlier?.model === model ? earlier.count + 1 : 1
  return { ...turn, compression: { ...turn.compression, poor: { count, tokens, model } } }
}

function pause(turn: Turn, view: View, kind: FailureKind): Turn {
  const compression: CompressionState = { ...turn.compression, pausedUntil: view.now + pauseMs }
  const why = `the context was not compressed, and nothing was removed: ${failureReasons[kind]}. The next attempt is made in ${pauseMs / 60_000} minutes, or on request`
  return addNote({ ...turn, compression }, view.now, warningNote, why)
}

const accessFailures: ReadonlySet<FailureKind> = new Set<FailureKind>([
  'auth',
  'key-dead',
  'forbidden',
  'unconfigured',
  'network',
  'stalled',
  'tls',
  'limit',
])

/** Whether a failed summary leaves all messages as they are. After any other failure an excerpt replaces them. */
export const keepsMessages = (kind: FailureKind): boolean => accessFailures.has(kind)
