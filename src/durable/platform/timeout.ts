/** Bounds how long work is waited for. */

import { clock } from './clock.ts'

/**
 * Waits for the work at most `ms`, then returns or throws what `onTimeout` does. The work itself goes on, and its later
 * error is ignored. The timer ends with the work: it would keep a Durable Object in memory.
 */
export async function withTimeout<T, L>(work: Promise<T>, ms: number, onTimeout: () => L): Promise<T | L> {
  const { promise: expired, resolve } = Promise.withResolvers<void>()
  const cancel = clock.schedule(ms, resolve)
  try {
    return await Promise.race([work, expired.then(onTimeout)])
  } finally {
    cancel()
  }
}

/** A signal that aborts at a time unless `end` is called before. A timer that is left keeps a Durable Object in memory. */
export type Deadline = { readonly signal: AbortSignal; readonly end: () => void }

/** The words of the platform's own timeouts, which vendors' errors are classified by. */
const timeoutMessage = 'The operation was aborted due to timeout'

/** Starts a deadline. Its signal also aborts with `signal`. */
export function startDeadline(ms: number, signal?: AbortSignal | null): Deadline {
  const controller = new AbortController()
  const end = clock.schedule(ms, () => controller.abort(new DOMException(timeoutMessage, 'TimeoutError')))
  return { signal: signal ? AbortSignal.any([signal, controller.signal]) : controller.signal, end }
}

/** Does work with a signal that aborts after `ms`. The timer ends with the work. */
export async function withDeadline<T>(ms: number, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const { signal, end } = startDeadline(ms)
  try {
    return await work(signal)
  } finally {
    end()
  }
}

/** Sends a request that has `ms` for its headers and its body. The timer ends when the body is read, cancelled or broken. */
export async function fetchWithDeadline(
  ms: number,
  send: (signal: AbortSignal) => Promise<Response>,
  signal?: AbortSignal | null,
): Promise<Response> {
  const deadline = startDeadline(ms, signal)
  try {
    const response = await send(deadline.signal)
    if (response.body) return endWithBody(response, deadline.end)
    deadline.end()
    return response
  } catch (error) {
    deadline.end()
    throw error
  }
}

/** Returns the same response. `end` is called when its body has been read, was cancelled or failed. */
function endWithBody(response: Response, end: () => void): Response {
  const watched = response.body?.pipeThrough(new TransformStream<Uint8Array, Uint8Array>({ flush: end, cancel: end }))
  return new Response(watched, response)
}
