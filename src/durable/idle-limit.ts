/** Gives up a call that sends nothing for too long. Time is counted from the last sign of life. */

const firstByteMs = 300_000
const idleMs = 180_000

export async function withIdleLimit<T>(
  controller: AbortController,
  run: (signal: AbortSignal, pulse: () => void) => Promise<T>,
): Promise<T> {
  let stalled = false
  const limit = (ms: number) =>
    setTimeout(() => {
      stalled = true
      controller.abort()
    }, ms)
  let timer = limit(firstByteMs)
  let last = Date.now()
  const pulse = () => {
    // Re-arming a timer for every chunk would cost more than the chunk.
    const now = Date.now()
    if (now - last < 5_000) return
    last = now
    clearTimeout(timer)
    timer = limit(idleMs)
  }
  try {
    return await run(controller.signal, pulse)
  } catch (error) {
    if (stalled) throw new TypeError('the provider sent nothing for too long', { cause: error })
    throw error
  } finally {
    clearTimeout(timer)
  }
}
