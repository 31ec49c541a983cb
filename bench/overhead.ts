/** Calculates what a step of a tool loop costs more than another one. */

import type { Row } from './metric.ts'
import { atMost } from './metric.ts'
import { quantile } from './stats.ts'

/** Milliseconds of steps of one round, in their order. */
export type Steps = { readonly with: readonly number[]; readonly without: readonly number[] }

/** Adds the times of two things that are done one after the other. */
export const inSequence = (first: readonly number[], second: readonly number[]): number[] =>
  first.slice(0, second.length).map((ms, n) => ms + (second[n] ?? 0))

export const overheadAt = (q: number, steps: Steps): number => quantile(steps.with, q) - quantile(steps.without, q)

/** Two rows: the median of each round, and the 95th percentile of all its calls. */
export function overheadRows(metric: string, what: string, goal: number, rounds: readonly Steps[]): readonly Row[] {
  const all: Steps = { with: rounds.flatMap((one) => one.with), without: rounds.flatMap((one) => one.without) }
  const at = (q: number) => `${quantile(all.with, q).toFixed(2)} − ${quantile(all.without, q).toFixed(2)} ms`
  const shared = { metric, unit: 'ms', goal: atMost(goal) }
  return [
    { ...shared, what, samples: rounds.map((steps) => overheadAt(0.5, steps)), note: at(0.5) },
    {
      ...shared,
      what: `${what}, 95th percentile`,
      samples: [overheadAt(0.95, all)],
      note: `${at(0.95)}; ${all.with.length} calls`,
    },
  ]
}
