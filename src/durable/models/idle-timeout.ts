/**
 * Gives up a call that says nothing for too long. What counts is something of the answer: a word, a
 * thought, a piece of a call. Keep-alives put the end off, but only so far: a gateway sends them for
 * ever while the model behind it is dead. Bytes that mean nothing count for nothing.
 */

import type { Sign } from '../../agent/model/dialect.ts'
import { clock } from '../platform/clock.ts'

/** `silentMs`: nothing at all came; `keptAliveMs`: nothing but keep-alives. */
export type Silence = { readonly silentMs: number; readonly keptAliveMs: number }
/**
 * Before anything of the answer came, and between two pieces of it; what no answer takes longer than, whatever signs
 * of life it gives; and the time that is left of the turn.
 */
export type IdleLimits = {
  readonly first: Silence
  readonly next: Silence
  readonly wholeMs: number
  readonly leftMs: number
}

/** As long as gateways are known to keep a connection open for a model that is loaded or thinks. */
const keptAliveMs = 600_000
const wholeMs = 1_800_000
/** For the last words of a turn whose time is over. */
const lastWordsMs = 60_000

/** What the settings say wins, over keep-alives too; else a model that thinks, or a long prompt, is given more time. */
export function idleLimits(
  set: { readonly first_byte_timeout?: number | undefined; readonly idle_timeout?: number | undefined } | undefined,
  around: { readonly reasoning: boolean; readonly promptTokens: number; readonly leftMs: number },
): IdleLimits {
  const isLate = around.leftMs <= 0
  const long = around.promptTokens > 100_000 ? 300_000 : around.promptTokens > 50_000 ? 240_000 : 180_000
  const usual = around.reasoning ? Math.max(long, 300_000) : long
  const standard = isLate ? { silentMs: lastWordsMs, keptAliveMs: lastWordsMs } : { silentMs: usual, keptAliveMs }
  const limit = (seconds: number | undefined): Silence =>
    seconds === undefined ? standard : { silentMs: seconds * 1_000, keptAliveMs: seconds * 1_000 }
  const [first, next] = [limit(set?.first_byte_timeout), limit(set?.idle_timeout)]
  const whole = Math.max(wholeMs, first.silentMs, next.silentMs)
  return { first, next, wholeMs: whole, leftMs: isLate ? Infinity : around.leftMs }
}

/** When the call is given up, unless there is another sign of life before. */
export const givenUpAt = (
  { silentMs, keptAliveMs: most }: Silence,
  { answered, alive }: { readonly answered: number; readonly alive: number },
): number => Math.min(alive + silentMs, answered + most)

/** A timer that is later than this was kept waiting by other work. */
const lateMs = 50

/** Thrown in place of what the cancelled call throws. */
export class Stalled extends Error {
  override readonly name = 'Stalled'
  /** It was not silent for too long: the time of the turn is over. */
  readonly isLate: boolean
  constructor(isLate: boolean, cause: unknown) {
    super('the provider sent nothing for too long', { cause })
    this.isLate = isLate
  }
}

export async function withIdleLimit<T>(
  controller: AbortController,
  { first, next, wholeMs: whole, leftMs }: IdleLimits,
  run: (signal: AbortSignal, pulse: (sign?: Sign) => void) => Promise<T>,
): Promise<T> {
  const began = clock.now()
  const most = Math.min(whole, leftMs)
  const begins = Math.min(first.silentMs, most)
  let [current, answered, alive, stalled, due] = [first, began, began, false, began + begins]
  const giveUp = () => {
    stalled = true
    controller.abort()
  }
  // Looks again when it is due: to move it with every chunk would cost more than the chunk.
  const look = () => {
    const now = clock.now()
    // While the isolate was busy nobody listened: what has come meanwhile is heard before it is called a silence.
    const ends = Math.min(givenUpAt(current, { answered, alive }), began + most)
    const left = Math.max(ends - now, now - due > lateMs ? now - due : 0)
    if (left <= 0) return giveUp()
    due = now + left
    cancelTimer = clock.later(left, look)
  }
  let cancelTimer = clock.later(begins, look)
  const pulse = (sign: Sign = 'answer') => {
    alive = clock.now()
    if (sign === 'keep-alive') return
    answered = alive
    if (current === next) return
    current = next
    // From here on the end may be nearer than before.
    if (next.silentMs >= first.silentMs) return
    cancelTimer()
    due = alive + next.silentMs
    look()
  }
  try {
    return await run(controller.signal, pulse)
  } catch (error) {
    if (stalled) throw new Stalled(clock.now() >= began + leftMs, error)
    throw error
  } finally {
    cancelTimer()
  }
}
