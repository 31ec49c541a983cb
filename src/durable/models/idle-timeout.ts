/**
 * Cancels a model call that streams nothing of an answer for too long. Text, reasoning and parts of a tool call reset
 * the timeout. Keep-alives extend it up to a maximum: a gateway may send them forever for a dead model.
 */

import type { Activity } from '#agent/core/dialect.ts'
import { clock } from '#durable/platform/clock.ts'

/** `silentMs`: the time without any bytes; `keptAliveMs`: the time with nothing but keep-alives. */
export type IdleTimes = { readonly silentMs: number; readonly keptAliveMs: number }
/**
 * The timeouts of one call: before the first part of the answer, between two parts, of the whole call, and the time
 * that remains of the turn.
 */
export type IdleLimits = {
  readonly first: IdleTimes
  readonly next: IdleTimes
  readonly totalMs: number
  readonly remainingMs: number
}

/** Gateways keep a connection open this long for a model that is loaded or reasons. */
const defaultKeptAliveMs = 600_000
const maxCallMs = 1_800_000
/** For the closing call of a turn whose time is over. */
const closingCallMs = 60_000

/** Settings override the defaults. By default a reasoning model and a long prompt get more time. */
export function idleLimits(
  set: { readonly first_byte_timeout?: number | undefined; readonly idle_timeout?: number | undefined } | undefined,
  around: {
    readonly reasoning: boolean
    readonly promptTokens: number
    readonly remainingMs: number
    /** The answer is not streamed: nothing arrives before all of it. */
    readonly isWhole?: boolean
  },
): IdleLimits {
  const isClosing = around.remainingMs <= 0
  const long = around.promptTokens > 100_000 ? 300_000 : around.promptTokens > 50_000 ? 240_000 : 180_000
  const usual = around.isWhole ? defaultKeptAliveMs : around.reasoning ? Math.max(long, 300_000) : long
  const standard = isClosing
    ? { silentMs: closingCallMs, keptAliveMs: closingCallMs }
    : { silentMs: usual, keptAliveMs: defaultKeptAliveMs }
  const limit = (seconds: number | undefined): IdleTimes =>
    seconds === undefined ? standard : { silentMs: seconds * 1_000, keptAliveMs: seconds * 1_000 }
  const [first, next] = [limit(set?.first_byte_timeout), limit(set?.idle_timeout)]
  const totalMs = Math.max(maxCallMs, first.silentMs, next.silentMs)
  return { first, next, totalMs, remainingMs: isClosing ? Infinity : around.remainingMs }
}

/** The time at which the call is cancelled, unless something arrives before. */
export const timeoutAt = (
  { silentMs, keptAliveMs }: IdleTimes,
  { lastPartAt, lastBytesAt }: { readonly lastPartAt: number; readonly lastBytesAt: number },
): number => Math.min(lastBytesAt + silentMs, lastPartAt + keptAliveMs)

/** A timer that fires later than this was delayed by other work of the isolate. */
const maxTimerDelayMs = 50

/** The error of a call that timed out. It replaces the abort error. */
export class Stalled extends Error {
  override readonly name = 'Stalled'
  /** Whether the time of the turn was over, and not the idle timeout. */
  readonly isTurnTimeout: boolean
  constructor(isTurnTimeout: boolean, cause: unknown) {
    super('the provider sent nothing for too long', { cause })
    this.isTurnTimeout = isTurnTimeout
  }
}

export async function withIdleTimeout<T>(
  controller: AbortController,
  { first, next, totalMs, remainingMs }: IdleLimits,
  run: (signal: AbortSignal, onActivity: (activity?: Activity) => void) => Promise<T>,
): Promise<T> {
  const startedAt = clock.now()
  const maxMs = Math.min(totalMs, remainingMs)
  const firstMs = Math.min(first.silentMs, maxMs)
  let [current, lastPartAt, lastBytesAt, stalled, due] = [first, startedAt, startedAt, false, startedAt + firstMs]
  const cancel = () => {
    stalled = true
    controller.abort()
  }
  // The timer is checked when it fires: moving it with every chunk would cost more than the chunk.
  const check = () => {
    const now = clock.now()
    // A busy isolate reads late: what has arrived meanwhile is read before the call counts as silent.
    const endsAt = Math.min(timeoutAt(current, { lastPartAt, lastBytesAt }), startedAt + maxMs)
    const leftMs = Math.max(endsAt - now, now - due > maxTimerDelayMs ? now - due : 0)
    if (leftMs <= 0) return cancel()
    due = now + leftMs
    cancelTimer = clock.schedule(leftMs, check)
  }
  let cancelTimer = clock.schedule(firstMs, check)
  const onActivity = (activity: Activity = 'answer') => {
    lastBytesAt = clock.now()
    if (activity === 'keep-alive') return
    lastPartAt = lastBytesAt
    if (current === next) return
    current = next
    // The timeout between parts may be shorter than the first one.
    if (next.silentMs >= first.silentMs) return
    cancelTimer()
    due = lastBytesAt + next.silentMs
    check()
  }
  try {
    return await run(controller.signal, onActivity)
  } catch (error) {
    if (stalled) throw new Stalled(clock.now() >= startedAt + remainingMs, error)
    throw error
  } finally {
    cancelTimer()
  }
}
