/** Decides by the loudness of a microphone when somebody begins and ends to speak. */

export type Activity = {
  /** The loudness of the room, which is followed slowly. */
  readonly noise: number
  /** How long it has been loud, and quiet, without a longer pause between. */
  readonly loudMs: number
  readonly quietMs: number
  /** Somebody has said at least a short word. */
  readonly hasSpoken: boolean
}

export const noActivity: Activity = { noise: 0.01, loudMs: 0, quietMs: 0, hasSpoken: false }

/** Loudness is from 0 to 1, as the root of the mean square. */
const minLoud = 0.02
const overNoise = 3
const shortWordMs = 200
/** A pause within a sentence is shorter. */
const endMs = 1_200
const pauseMs = 300
/** A cough is shorter. */
const interruptMs = 500

export function addLevel({ noise, loudMs, quietMs, hasSpoken }: Activity, level: number, ms: number): Activity {
  const isLoud = level > Math.max(minLoud, noise * overNoise)
  const share = Math.min(1, ms / (level < noise ? 500 : 10_000))
  const room = isLoud ? noise : noise + (level - noise) * share
  if (!isLoud) {
    const quiet = quietMs + ms
    return { noise: room, loudMs: quiet > pauseMs ? 0 : loudMs, quietMs: quiet, hasSpoken }
  }
  const loud = loudMs + ms
  return { noise: room, loudMs: loud, quietMs: 0, hasSpoken: hasSpoken || loud >= shortWordMs }
}

export const hasEnded = ({ hasSpoken, quietMs }: Activity): boolean => hasSpoken && quietMs >= endMs

/** Somebody speaks over the answer. */
export const isInterrupting = ({ loudMs }: Activity): boolean => loudMs >= interruptMs
