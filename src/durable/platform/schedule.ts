/** One alarm, many reasons to wake: the earliest of them, as a pure minimum. */

/** How long a turn may go without a sign of the drive before the alarm looks after it. */
export const leaseMs = 15_000
/** After this, an alarm hands over to a fresh one: the platform ends an invocation after 15 minutes. */
export const segmentMs = 600_000

export type Reasons = {
  /** A turn is being driven in this object now, or could be. */
  readonly driving: boolean
  /** The turn rests until this time. */
  readonly restsUntil: number | undefined
  /** History has not got everything yet; try again at this time. */
  readonly projectAt: number | undefined
  /** Background processes are to be asked how they stand. */
  readonly lookAt: number | undefined
  /** Something is on its way to a chat, or has to be sent then. */
  readonly sendAt?: number | undefined
  /** The session is ephemeral and removes itself then. */
  readonly expiresAt?: number | undefined
}

/** Milliseconds since 1970, or undefined: there is nothing to wake for. */
export function wakeAt({ driving, ...reasons }: Reasons, now: number): number | undefined {
  const { restsUntil, projectAt, lookAt, sendAt, expiresAt } = reasons
  const times = [driving ? now + leaseMs : undefined, restsUntil, projectAt, lookAt, sendAt, expiresAt].filter(
    (time) => time !== undefined,
  )
  return times.length ? Math.min(...times) : undefined
}

/** 2 s, 4 s, 8 s … at most 5 minutes. */
export const projectionDelay = (failures: number): number => Math.min(1_000 * 2 ** failures, 300_000)
