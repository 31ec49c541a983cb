/** Defines metrics and compares two contenders in interleaved rounds, so that noise of the machine affects both. */

import type { Stage } from './stage.ts'

export type Options = {
  readonly rounds: number
  readonly quick: boolean
  /** Parts of a metric that has some, instead of all. */
  readonly only?: readonly string[]
}

export type Goal = { readonly is: 'at most' | 'at least'; readonly value: number }

/** One line of the table. `samples` are the values of the rounds, in the unit of the goal. */
export type Row = {
  readonly metric: string
  readonly what: string
  readonly unit: string
  readonly goal: Goal
  readonly samples: readonly number[]
  /** Absolute numbers behind a ratio, for small print. */
  readonly ours?: readonly number[]
  readonly floor?: readonly number[]
  readonly absoluteUnit?: string
  readonly note?: string
}

export type Metric = {
  readonly id: string
  readonly what: string
  readonly run: (stage: Stage, options: Options) => Promise<readonly Row[]>
}

export type Pair = { readonly ours: number; readonly floor: number }

/** Runs both in every round, in alternating order, after a warm-up round that does not count. */
export const pairs = async (
  rounds: number,
  ours: (round: number) => Promise<number>,
  floor: (round: number) => Promise<number>,
): Promise<readonly Pair[]> => {
  const found: Pair[] = []
  for (let round = -1; round < rounds; round++) {
    const oursFirst = round % 2 === 0
    const early = oursFirst ? await ours(round) : await floor(round)
    const late = oursFirst ? await floor(round) : await ours(round)
    if (round >= 0) found.push(oursFirst ? { ours: early, floor: late } : { ours: late, floor: early })
  }
  return found
}

type Named = Pick<Row, 'metric' | 'what' | 'goal'> & { readonly absoluteUnit: string; readonly note?: string }

export const ratioRow = (named: Named, found: readonly Pair[]): Row => ({
  ...named,
  unit: '×',
  samples: found.map((pair) => pair.ours / pair.floor),
  ours: found.map((pair) => pair.ours),
  floor: found.map((pair) => pair.floor),
})

export const atMost = (value: number): Goal => ({ is: 'at most', value })
export const atLeast = (value: number): Goal => ({ is: 'at least', value })

/** `count` times in a row. */
export const times = async <T>(count: number, act: (n: number) => Promise<T>): Promise<T[]> => {
  const results: T[] = []
  for (let n = 0; n < count; n++) results.push(await act(n))
  return results
}

/** `count` at once. */
export const together = <T>(count: number, act: (n: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, n) => act(n)))

let issued = 0
/** Creates a unique word, by which the journal of the model server finds the requests of a turn. */
export const nonce = (): string => `b${process.pid}x${issued++}`
