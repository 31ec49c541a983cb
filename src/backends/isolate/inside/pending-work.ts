/** Tracks calls and timers that a program has not awaited. The program ends when all of them have ended. */

export type PendingWork = {
  readonly track: <T>(work: Promise<T>) => Promise<T>
  /** Resolves when nothing has been pending for a moment. */
  readonly waitUntilDone: () => Promise<void>
  readonly isTimer: (value: unknown) => boolean
}

/** `report` receives errors that are thrown in timers and microtasks. */
export function trackPendingWork(report: (error: unknown) => void): PendingWork {
  const later = setTimeout
  const cancel = clearTimeout
  const timers = new Set<unknown>()
  const started = new Set<unknown>()
  const calls = new Set<object>()
  let changed = (): void => {}

  const reporting = (act: (...args: unknown[]) => void, args: readonly unknown[]): void => {
    try {
      act(...args)
    } catch (error) {
      report(error)
    }
  }
  const begin = (act: (...args: unknown[]) => void, ms?: number, ...args: unknown[]): unknown => {
    const timer = later(() => {
      timers.delete(timer)
      changed()
      reporting(act, args)
    }, ms)
    timers.add(timer)
    started.add(timer)
    return timer
  }
  const forget = (timer: unknown): void => {
    timers.delete(timer)
    cancel(timer as ReturnType<typeof setTimeout>)
    changed()
  }
  const soon = queueMicrotask
  const afterwards = (act: () => void): void => soon(() => reporting(act, []))
  Object.assign(globalThis, { setTimeout: begin, clearTimeout: forget, queueMicrotask: afterwards })

  const moment = () => new Promise<void>((resolve) => later(resolve, 0))
  return {
    isTimer: (value) => started.has(value),
    async track(work) {
      const call = {}
      calls.add(call)
      try {
        return await work
      } finally {
        calls.delete(call)
        changed()
      }
    },
    async waitUntilDone() {
      await moment()
      while (calls.size > 0 || timers.size > 0) {
        await new Promise<void>((resolve) => (changed = resolve))
        await moment()
      }
    },
  }
}
