/**
 * Shrinks a failing simulation. Its random numbers, in order, are the tape. Shrinking removes parts of the
 * tape and neutralises single numbers while the same violation remains.
 */

import { randomFrom, type Simulated } from './simulation.ts'

export type Tape = readonly number[]
type Run = (random: () => number) => Promise<Simulated>

/** The number that triggers no special event: chances are tested with `<`. */
const neutral = 0.999_999

export async function record(seed: number, run: Run): Promise<Simulated & { readonly tape: Tape }> {
  const tape: number[] = []
  const random = randomFrom(seed)
  const simulated = await run(() => {
    const value = random()
    tape.push(value)
    return value
  })
  return { ...simulated, tape }
}

/** Replays a tape. After its end no special event happens. */
export function replay(tape: Tape, run: Run): Promise<Simulated> {
  let at = 0
  return run(() => tape[at++] ?? neutral)
}

/** Finds a short tape with the same violation. */
export async function shrink(tape: Tape, violation: string, run: Run): Promise<Tape> {
  const isSame = async (shorter: Tape) => (await replay(shorter, run)).violation === violation
  let best = tape
  for (let before: Tape | undefined; before !== best;) {
    before = best
    best = await withoutParts(best, isSame)
    best = await neutralise(best, isSame)
  }
  return best
}

type Check = (tape: Tape) => Promise<boolean>

async function withoutParts(tape: Tape, isSame: Check): Promise<Tape> {
  let best = tape
  for (let size = Math.ceil(tape.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2))
    for (let at = 0; at < best.length;) {
      const shorter = [...best.slice(0, at), ...best.slice(at + size)]
      if (await isSame(shorter)) best = shorter
      else at += size
    }
  return best
}

async function neutralise(tape: Tape, isSame: Check): Promise<Tape> {
  let best = tape
  for (let at = 0; at < best.length; at++) {
    if (best[at] === neutral) continue
    const shorter = best.with(at, neutral)
    if (await isSame(shorter)) best = shorter
  }
  return best
}
