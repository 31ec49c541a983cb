/** Prints results: as JSON with `--json`, else as text for people. Data goes to stdout, notes to stderr. */

import { accessSync, constants, existsSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { UsageError } from './exits.mjs'
import { widthOf } from './screen/width.mjs'

export const print = (text) => void process.stdout.write(text.endsWith('\n') ? text : `${text}\n`)
export const note = (text) => void process.stderr.write(`${text}\n`)

/** Terminals obey control characters: what models and people wrote is shown without them. */
// eslint-disable-next-line no-control-regex
export const plain = (text) => String(text ?? '').replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, '')

/** One line per item, with columns of equal width. */
export function table(rows) {
  const widths = (rows[0] ?? []).map((_, at) => Math.max(...rows.map((row) => widthOf(plain(row[at])))))
  return rows
    .map((row) =>
      row
        .map((cell, at) => plain(cell) + ' '.repeat(widths[at] - widthOf(plain(cell))))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

/** Prints a list. `toRow` makes the columns of an item. */
export function printList({ json }, items, head, toRow) {
  if (json) return print(JSON.stringify(items))
  if (!items.length) return note('Nothing.')
  print(table([head, ...items.map(toRow)]))
}

export const printOne = ({ json }, item, text) => print(json ? JSON.stringify(item) : text)

export const dollars = (usd) => `$${(usd ?? 0).toFixed(4)}`

/** Before anything runs: results that cannot be written would be lost. */
export function requireWritable(file) {
  const folder = dirname(file)
  if (!existsSync(folder)) throw new UsageError(`There is no folder ${folder} for ${file}.`)
  const isThere = existsSync(file)
  if (isThere && statSync(file).isDirectory()) throw new UsageError(`${file} is a folder.`)
  try {
    accessSync(isThere ? file : folder, constants.W_OK)
  } catch {
    throw new UsageError(`${file} cannot be written.`)
  }
}
