/**
 * Selects what `npm test` runs of long tables and suites; `npm run chaos` runs all. Rows stand in the order of what they
 * find; every rule has one among the first, or a test that always runs.
 */

import { inject, it } from 'vitest'
import { chooseRows, isInTurn } from './choose-rows.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    readonly isLong: boolean
    readonly rowSeed: number
    /** False when a file is run by itself: then it runs whole. */
    readonly takesTurns: boolean
  }
}

export const isLong = inject('isLong')

/** `others`: so many of the rest, chosen by the seed of the run, which `npm test` prints. */
export const firstRows = <Row>(count: number, rows: readonly Row[], others = 0): readonly Row[] =>
  isLong ? rows : chooseRows(count, others, rows, inject('rowSeed'))

type Rows = (name: string, ...rest: readonly unknown[]) => void
type Table = (rows: readonly unknown[]) => Rows

/** Defines the tests, and the rows of tests with a table, that are chosen. */
function chosenTests(isChosen: (name: string) => boolean): typeof it {
  const define = it as unknown as Rows & Record<'each' | 'for', Table>
  const some: Rows = (name, ...rest) => (isChosen(name) ? define(name, ...rest) : undefined)
  const table =
    (kind: 'each' | 'for'): Table =>
    (rows) =>
    (name, ...rest) => {
      const chosen = rows.filter((_, at) => isChosen(`${name} ${at}`))
      if (chosen.length) define[kind](chosen)(name, ...rest)
    }
  const all = Object.assign(some, {
    each: table('each'),
    for: table('for'),
    runIf: (condition: unknown) => (condition ? all : it.skip),
    skipIf: (condition: unknown) => (condition ? it.skip : all),
  }) as unknown as typeof it
  return all
}

/** One case of a rule that other tests of its file keep: a third of these run, by the seed of the run. */
export const itInTurn = chosenTests((name) => !inject('takesTurns') || isInTurn(name, inject('rowSeed')))

/** Runs in `npm run chaos` alone: a cheaper test keeps its rule. */
export const itLong = chosenTests(() => isLong)
