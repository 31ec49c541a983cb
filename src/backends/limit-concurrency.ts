/** Returns a function that runs at most `maxConcurrent` tasks at a time and queues the others. */
export function limitConcurrency(maxConcurrent: number) {
  const queue: (() => void)[] = []
  let running = 0
  return async <T>(task: () => Promise<T>): Promise<T> => {
    if (running >= maxConcurrent) await new Promise<void>((resolve) => queue.push(resolve))
    else running++
    try {
      return await task()
    } finally {
      const next = queue.shift()
      if (next) next()
      else running--
    }
  }
}
