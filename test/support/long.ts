/**
 * Selects the rows of a table: `npm test` runs the first ones, `npm run chaos` all. Rows stand in the order of what they
 * find; every rule has one among the first.
 */

import { inject } from 'vitest'
import { chooseRows } from './choose-rows.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    readonly isLong: boolean
    readonly rowSeed: number
  }
}

export const isLong = inject('isLong')

/** `others`: so many of the rest, chosen by the seed of the run, which `npm test` prints. */
export const firstRows = <Row>(count: number, rows: readonly Row[], others = 0): readonly Row[] =>
  isLong ? rows : chooseRows(count, others, rows, inject('rowSeed'))
