/**
 * Counts the messages that have just arrived in this isolate. One that arrives alone begins its turn at once; in a burst
 * turns wait for a moment, so that their work does not delay the acknowledgements of the other messages.
 */

const windowMs = 200
/** So many at once are no burst. */
const freeCount = 2

export type Arrivals = {
  /** Counts a message. Returns after how many milliseconds its turn begins: 0 or 200. */
  readonly count: (now: number) => number
}

export function createArrivals(): Arrivals {
  let times: number[] = []
  return {
    count(now) {
      times = [...times.filter((at) => now - at < windowMs && at <= now), now].slice(-freeCount - 1)
      return times.length > freeCount ? windowMs : 0
    },
  }
}
