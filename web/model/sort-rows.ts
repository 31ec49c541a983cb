/** Sorts the rows of a table by a column. Numbers are compared as numbers, and empty cells come last. */

import type { Rows } from './csv.ts'

export type Sorting = { readonly column: number; readonly order: 'ascending' | 'descending' }

const collator = new Intl.Collator(undefined, { numeric: true })
const isNumeric = (text: string): boolean => text !== '' && Number.isFinite(Number(text))

function compare(one: string, other: string): number {
  if (isNumeric(one) && isNumeric(other)) return Number(one) - Number(other)
  return collator.compare(one, other)
}

export function sortRows(rows: Rows, { column, order }: Sorting): Rows {
  const sign = order === 'ascending' ? 1 : -1
  return rows.toSorted((one, other) => {
    const [left = '', right = ''] = [one[column]?.trim(), other[column]?.trim()]
    if (!left || !right) return Number(!left) - Number(!right)
    return sign * compare(left, right)
  })
}
