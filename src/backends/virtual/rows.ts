/**
 * Reads and writes the table of a workspace, one row per file. Its primary key is (directory, name), so the children of
 * a directory and a whole subtree are both key ranges, and no other index is needed.
 */

import type { ChangeRecorder } from './checkpoint-rows.ts'
import type { Table } from './table.ts'
import { join } from './paths.ts'

export type FileKind = 'file' | 'directory' | 'link'

/** `ref` is the target of a link, or the R2 key of a file too large for a row. */
export type WorkspaceRow = {
  readonly parent: string
  readonly name: string
  readonly kind: FileKind
  readonly mode: number
  readonly modified: number
  readonly size: number
  readonly ref: string | null
}

export type FileRows = {
  readonly get: (parent: string, name: string) => WorkspaceRow | undefined
  readonly content: (parent: string, name: string) => Uint8Array
  readonly children: (parent: string) => readonly WorkspaceRow[]
  /** Lists all rows below a directory, unordered. */
  readonly below: (directory: string) => readonly WorkspaceRow[]
  readonly put: (row: WorkspaceRow, content: Uint8Array | null) => void
  readonly append: (row: WorkspaceRow, more: Uint8Array, modified: number) => void
  readonly change: (row: WorkspaceRow, to: { readonly mode: number; readonly modified: number }) => void
  readonly remove: (parent: string, name: string) => void
  readonly removeBelow: (directory: string) => void
  /** Renames a row and everything below it. */
  readonly rename: (from: WorkspaceRow, parent: string, name: string) => void
  readonly bytes: () => number
  readonly hasLinks: () => boolean
  readonly links: () => readonly WorkspaceRow[]
}

const columns = 'parent, name, kind, mode, modified, size, ref'
/** Matches the subtree of the directory `?1`: `0` is the character after `/`. */
const isBelow = `parent >= ?1 AND parent < ?1 || '0' AND (parent = ?1 OR parent >= ?1 || '/')`
const appendContent = `UPDATE workspace SET content = CAST(coalesce(content, x'') || ? AS BLOB), size = size + ?, modified = ?
  WHERE parent = ? AND name = ?`

/** `recorder` is called before every change. */
export function openRows(table: Table, recorder?: ChangeRecorder): FileRows {
  const get = (parent: string, name: string): WorkspaceRow | undefined =>
    table.all<WorkspaceRow>(`SELECT ${columns} FROM workspace WHERE parent = ? AND name = ?`, parent, name)[0]
  return {
    get,
    content(parent, name) {
      const text = 'SELECT content FROM workspace WHERE parent = ? AND name = ?'
      const [row] = table.all<{ content: ArrayBuffer | null }>(text, parent, name)
      return row?.content ? new Uint8Array(row.content) : new Uint8Array()
    },
    children: (parent) => table.all(`SELECT ${columns} FROM workspace WHERE parent = ? ORDER BY name`, parent),
    below: (directory) =>
      directory === '/'
        ? table.all(`SELECT ${columns} FROM workspace`)
        : table.all(`SELECT ${columns} FROM workspace WHERE ${isBelow}`, directory),
    put(row, content) {
      const before = get(row.parent, row.name)
      const { parent, name, kind, mode, modified, size, ref } = row
      recorder?.beforeChange(parent, name)
      const text = 'INSERT OR REPLACE INTO workspace VALUES (?, ?, ?, ?, ?, ?, ?, ?)'
      table.write(text, parent, name, kind, mode, modified, size, ref, content)
      table.add(size - (before?.size ?? 0), Number(kind === 'link') - Number(before?.kind === 'link'))
    },
    append({ parent, name }, more, modified) {
      recorder?.beforeChange(parent, name)
      table.write(appendContent, more, more.byteLength, modified, parent, name)
      table.add(more.byteLength, 0)
    },
    change({ parent, name }, { mode, modified }) {
      recorder?.beforeChange(parent, name)
      const text = 'UPDATE workspace SET mode = ?, modified = ? WHERE parent = ? AND name = ?'
      table.write(text, mode, modified, parent, name)
    },
    remove(parent, name) {
      recorder?.beforeChange(parent, name)
      table.write('DELETE FROM workspace WHERE parent = ? AND name = ?', parent, name)
      table.recount()
    },
    removeBelow(directory) {
      recorder?.beforeChangeBelow(directory)
      if (directory === '/') table.write('DELETE FROM workspace')
      else table.write(`DELETE FROM workspace WHERE ${isBelow}`, directory)
      table.recount()
    },
    rename(from, parent, name) {
      recorder?.beforeChange(from.parent, from.name)
      recorder?.beforeChange(parent, name)
      if (from.kind === 'directory') recorder?.beforeMove(join(from.parent, from.name), join(parent, name))
      rename(table, from, join(parent, name), { parent, name })
    },
    bytes: () => table.totals().bytes,
    hasLinks: () => table.totals().links > 0,
    links: () => table.all(`SELECT ${columns} FROM workspace WHERE kind = 'link'`),
  }
}

function rename(table: Table, from: WorkspaceRow, after: string, position: { parent: string; name: string }): void {
  const before = join(from.parent, from.name)
  const text = 'UPDATE workspace SET parent = ?, name = ? WHERE parent = ? AND name = ?'
  table.write(text, position.parent, position.name, from.parent, from.name)
  if (from.kind !== 'directory') return
  const below = `UPDATE workspace SET parent = ?2 || substr(parent, ?3) WHERE ${isBelow}`
  table.write(below, before, after, before.length + 1)
}
