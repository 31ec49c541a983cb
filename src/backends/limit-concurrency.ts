/** A line in front of something of which only so much may be used at a time. */

/** Lets so many in at a time; the others wait in line. */
export function limitConcurrency(most: number) {
  const waiting: (() => void)[] = []
  let taken = 0
  return async <T>(work: () => Promise<T>): Promise<T> => {
    if (taken >= most) await new Promise<void>((resolve) => waiting.push(resolve))
    else taken++
    try {
      return await work()
    } finally {
      const next = waiting.shift()
      if (next) next()
      else taken--
    }
  }
}
