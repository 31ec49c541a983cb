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

type Define = (name: string, ...rest: readonly unknown[]) => void
type Defines = Define & Record<'each' | 'for', (rows: readonly unknown[]) => Define>
const [run, skip] = [it, it.skip] as unknown as readonly [Defines, Defines]

const isChosen = (name: string): boolean => !inject('takesTurns') || isInTurn(name, inject('rowSeed'))

const table =
  (kind: 'each' | 'for') =>
  (rows: readonly unknown[]): Define =>
  (name, ...rest) => {
    for (const [at, row] of rows.entries()) (isChosen(`${name} ${at}`) ? run : skip)[kind]([row])(name, ...rest)
  }

/** One more case of a rule that other tests of its file keep: an eighth of these run, by the seed of the run. The others are skipped. */
export const itInTurn = Object.assign(((name, ...rest) => (isChosen(name) ? run : skip)(name, ...rest)) as Define, {
  each: table('each'),
  for: table('for'),
  runIf: (condition: unknown) => (condition ? itInTurn : it.skip),
  skipIf: (condition: unknown) => (condition ? it.skip : itInTurn),
}) as unknown as typeof it
