/** Shows rows as a table whose first row names the columns. A name sorts by its column. */

import { useMemo, useState } from 'preact/hooks'
import type { Rows } from '../../../model/csv.ts'
import { sortRows, type Sorting } from '../../../model/sort-rows.ts'
import { showBidi } from '../../../markdown/links.ts'
import { t } from '../../../words/words.ts'

type Props = { readonly rows: Rows; readonly name: string; readonly hasMore?: boolean }

/** More would be tens of thousands of elements. */
const maxShown = 500
const signs = { ascending: ' ↑', descending: ' ↓' } as const

export function DataTable({ rows, name, hasMore = false }: Props) {
  const [sorting, setSorting] = useState<Sorting>()
  const [head = [], ...body] = rows
  const sorted = useMemo(() => (sorting ? sortRows(body, sorting) : body), [rows, sorting])
  const width = Math.max(...rows.map(({ length }) => length), 0)
  const columns = Array.from({ length: width }, (_, at) => at)
  const sort = (column: number) => {
    const isSame = sorting?.column === column && sorting.order === 'ascending'
    setSorting({ column, order: isSame ? 'descending' : 'ascending' })
  }
  return (
    <>
      <div class="table sheet" tabIndex={0} role="region" aria-label={name}>
        <table>
          <thead>
            <tr>
              {columns.map((column) => (
                <th
                  key={column}
                  scope="col"
                  class={isNumber(body[0]?.[column]) ? 'align-right' : undefined}
                  aria-sort={sorting?.column === column ? sorting.order : undefined}
                >
                  <button type="button" onClick={() => sort(column)} dir="auto">
                    {showBidi(head[column] ?? '') || `${column + 1}`}
                    {sorting?.column === column && <span aria-hidden="true">{signs[sorting.order]}</span>}
                  </button>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {sorted.slice(0, maxShown).map((row, at) => (
              <tr key={at}>
                {columns.map((column) => (
                  <td key={column} dir="auto" class={isNumber(row[column]) ? 'align-right' : undefined}>
                    {showBidi(row[column] ?? '')}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <p class="note">
        {t('rowCount', { count: body.length })}
        {(hasMore || body.length > maxShown) && ` ${t('truncated')}`}
      </p>
    </>
  )
}

const isNumber = (text = ''): boolean => /^[-+]?[\d.,]+(?:\s?[%€$])?$/.test(text.trim())
