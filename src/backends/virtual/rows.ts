/**
 * The one table of a workspace. Its key is (directory, name): a directory's children are one range
 * of the tree in name order, a whole subtree is another, and no index beside it has to be written. One
 * file is one row; the table itself appears with the first write.
 */

import type { ChangeRecorder } from './checkpoint-rows.ts'
import type { Table } from './table.ts'
import { join } from './paths.ts'

export type Kind = 'file' | 'directory' | 'link'

/** `ref` is the target of a link, or the R2 key of a file too large for a row. */
export type Row = {
  readonly parent: string
  readonly name: string
  readonly kind: Kind
  readonly mode: number
  readonly modified: number
  readonly size: number
  readonly ref: string | null
}

export type Rows = {
  readonly get: (parent: string, name: string) => Row | undefined
  readonly content: (parent: string, name: string) => Uint8Array
  readonly children: (parent: string) => readonly Row[]
  /** Everything below a directory, in no promised order. */
  readonly below: (directory: string) => readonly Row[]
  readonly put: (row: Row, content: Uint8Array | null) => void
  readonly append: (row: Row, more: Uint8Array, modified: number) => void
  readonly change: (row: Row, to: { readonly mode: number; readonly modified: number }) => void
  readonly remove: (parent: string, name: string) => void
  readonly removeBelow: (directory: string) => void
  /** Renames a row and everything below it. */
  readonly rename: (from: Row, parent: string, name: string) => void
  readonly bytes: () => number
  readonly hasLinks: () => boolean
}

const COLUMNS = 'parent, name, kind, mode, modified, size, ref'
/** `?1` is a directory: `0` is the character after `/`, so this is exactly its subtree. */
const BELOW = `parent >= ?1 AND parent < ?1 || '0' AND (parent = ?1 OR parent >= ?1 || '/')`
const APPEND = `UPDATE workspace SET content = CAST(coalesce(content, x'') || ? AS BLOB), size = size + ?, modified = ?
  WHERE parent = ? AND name = ?`

/** The keeper is told before anything changes, so that it can be put back. */
export function openRows(table: Table, keeper?: ChangeRecorder): Rows {
  const get = (parent: string, name: string): Row | undefined =>
    table.all<Row>(`SELECT ${COLUMNS} FROM workspace WHERE parent = ? AND name = ?`, parent, name)[0]
  return {
    get,
    content(parent, name) {
      const text = 'SELECT content FROM workspace WHERE parent = ? AND name = ?'
      const [row] = table.all<{ content: ArrayBuffer | null }>(text, parent, name)
      return row?.content ? new Uint8Array(row.content) : new Uint8Array()
    },
    children: (parent) => table.all(`SELECT ${COLUMNS} FROM workspace WHERE parent = ? ORDER BY name`, parent),
    below: (directory) =>
      directory === '/'
        ? table.all(`SELECT ${COLUMNS} FROM workspace`)
        : table.all(`SELECT ${COLUMNS} FROM workspace WHERE ${BELOW}`, directory),
    put(row, content) {
      const before = get(row.parent, row.name)
      const { parent, name, kind, mode, modified, size, ref } = row
      keeper?.beforeChange(parent, name)
      const text = 'INSERT OR REPLACE INTO workspace VALUES (?, ?, ?, ?, ?, ?, ?, ?)'
      table.write(text, parent, name, kind, mode, modified, size, ref, content)
      table.add(size - (before?.size ?? 0), Number(kind === 'link') - Number(before?.kind === 'link'))
    },
    append({ parent, name }, more, modified) {
      keeper?.beforeChange(parent, name)
      table.write(APPEND, more, more.byteLength, modified, parent, name)
      table.add(more.byteLength, 0)
    },
    change({ parent, name }, { mode, modified }) {
      keeper?.beforeChange(parent, name)
      const text = 'UPDATE workspace SET mode = ?, modified = ? WHERE parent = ? AND name = ?'
      table.write(text, mode, modified, parent, name)
    },
    remove(parent, name) {
      keeper?.beforeChange(parent, name)
      table.write('DELETE FROM workspace WHERE parent = ? AND name = ?', parent, name)
      table.recount()
    },
    removeBelow(directory) {
      keeper?.beforeChangeBelow(directory)
      if (directory === '/') table.write('DELETE FROM workspace')
      else table.write(`DELETE FROM workspace WHERE ${BELOW}`, directory)
      table.recount()
    },
    rename(from, parent, name) {
      keeper?.beforeChange(from.parent, from.name)
      keeper?.beforeChange(parent, name)
      if (from.kind === 'directory') keeper?.beforeMove(join(from.parent, from.name), join(parent, name))
      rename(table, from, join(parent, name), { parent, name })
    },
    bytes: () => table.totals().bytes,
    hasLinks: () => table.totals().links > 0,
  }
}

function rename(table: Table, from: Row, after: string, place: { parent: string; name: string }): void {
  const before = join(from.parent, from.name)
  const text = 'UPDATE workspace SET parent = ?, name = ? WHERE parent = ? AND name = ?'
  table.write(text, place.parent, place.name, from.parent, from.name)
  if (from.kind !== 'directory') return
  const below = `UPDATE workspace SET parent = ?2 || substr(parent, ?3) WHERE ${BELOW}`
  table.write(below, before, after, before.length + 1)
}
