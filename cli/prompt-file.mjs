/** Parses a file of prompts: JSON lines, or CSV with a column `prompt`. */

import { UsageError } from './exits.mjs'

/** JSON lines are texts, or objects with `prompt` and perhaps `id`. `name` decides by its ending; without one the text does. */
export function parsePrompts(given, name = '') {
  // Editors and spreadsheets may begin a file with a byte order mark.
  const text = given.replace(/^\ufeff/, '')
  const isCsv = /\.csv$/i.test(name) || (!/\.(jsonl|ndjson|json)$/i.test(name) && !/^\s*["{]/.test(text))
  const rows = isCsv ? readCsv(text, name) : readLines(text)
  return rows.map(({ prompt, id }, at) => {
    if (typeof prompt !== 'string' || !prompt.trim()) throw new UsageError(`Prompt ${at + 1} of ${name} is empty.`)
    return id === undefined || id === '' ? { prompt } : { prompt, id: String(id) }
  })
}

function readLines(text) {
  return text.split('\n').flatMap((line, at) => {
    if (!line.trim()) return []
    const value = parseLine(line, at)
    return [typeof value === 'string' ? { prompt: value } : (value ?? {})]
  })
}

function parseLine(line, at) {
  try {
    return JSON.parse(line)
  } catch {
    throw new UsageError(`Line ${at + 1} is not valid JSON.`)
  }
}

function readCsv(text, file) {
  const [head = [], ...rows] = parseCsv(text)
  const names = head.map((name) => name.trim().toLowerCase())
  const column = names.indexOf('prompt')
  if (column < 0) throw new UsageError('A CSV file of prompts needs a column "prompt".')
  const ids = names.indexOf('id')
  const wide = rows.findIndex((row) => row.length > head.length)
  if (wide >= 0)
    throw new UsageError(`Prompt ${wide + 1} of ${file} has too many fields: a text with the separator needs quotes.`)
  return rows.map((row) => ({ prompt: row[column], ...(ids >= 0 && { id: row[ids] }) }))
}

/**
 * Fields in quotes may have commas, line ends and doubled quotes (RFC 4180). Empty lines are left out. A quote that is not
 * closed, or text behind a closed one, would lose or join prompts.
 */
export function parseCsv(text) {
  const rows = [[]]
  const separator = findSeparator(text)
  const field = new RegExp(
    `("(?:[^"]|"")*"|[^"${separator}\\r\\n][^${separator}\\r\\n]*|)(${separator}|\\r?\\n|\\r|$)`,
    'gy',
  )
  for (let at = 0; ; at = field.lastIndex) {
    const match = field.exec(text)
    if (!match) throw new UsageError(`Line ${lineOf(text, at)} has a quote that is not closed, or text behind one.`)
    const [, raw, end] = match
    rows.at(-1).push(raw.startsWith('"') ? raw.slice(1, -1).replaceAll('""', '"') : raw)
    if (end === '') break
    if (end !== separator) rows.push([])
  }
  return rows.filter((row) => row.some((value) => value !== ''))
}

/** The one that the first line has most: spreadsheets of some countries write semicolons. */
function findSeparator(text) {
  const [head] = text.split(/[\r\n]/, 1)
  const countOf = (separator) => head.split(separator).length
  return [',', ';', '\t'].reduce((best, one) => (countOf(one) > countOf(best) ? one : best))
}

const lineOf = (text, at) => text.slice(0, at).split(/\r\n|\r|\n/).length
