/** Gives up a call that sends nothing for too long. Time is counted from the last sign of life. */

export type IdleLimits = { readonly firstByteMs: number; readonly idleMs: number }

/** What the settings say wins; else a model that thinks, or a long prompt, is given more time. */
export function idleLimits(
  set: { readonly first_byte_timeout?: number | undefined; readonly idle_timeout?: number | undefined } | undefined,
  around: { readonly reasoning: boolean; readonly promptTokens: number },
): IdleLimits {
  const long = around.promptTokens > 100_000 ? 300_000 : around.promptTokens > 50_000 ? 240_000 : 180_000
  const standard = around.reasoning ? Math.max(long, 300_000) : long
  return {
    firstByteMs: set?.first_byte_timeout === undefined ? standard : set.first_byte_timeout * 1_000,
    idleMs: set?.idle_timeout === undefined ? standard : set.idle_timeout * 1_000,
  }
}

/** No answer takes longer than this, whatever signs of life it gives. */
const wholeMs = 1_800_000

/** Thrown in place of what the cancelled call throws. */
export class Stalled extends Error {
  override readonly name = 'Stalled'
}

export async function withIdleLimit<T>(
  controller: AbortController,
  { firstByteMs, idleMs }: IdleLimits,
  run: (signal: AbortSignal, pulse: () => void) => Promise<T>,
): Promise<T> {
  let stalled = false
  const limit = (ms: number) =>
    setTimeout(() => {
      stalled = true
      controller.abort()
    }, ms)
  let timer = limit(firstByteMs)
  const whole = limit(wholeMs)
  let last = 0
  // Re-arming a timer for every chunk would cost more than the chunk.
  const pause = Math.min(5_000, idleMs / 4)
  const pulse = () => {
    const now = Date.now()
    if (now - last < pause) return
    last = now
    clearTimeout(timer)
    timer = limit(idleMs)
  }
  try {
    return await run(controller.signal, pulse)
  } catch (error) {
    if (stalled) throw new Stalled('the provider sent nothing for too long', { cause: error })
    throw error
  } finally {
    clearTimeout(timer)
    clearTimeout(whole)
  }
}
