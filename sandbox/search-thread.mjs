// Runs one search in a worker thread (search.mjs). Hits are ordered by path. Only the beginning of long lines is
// searched, binary files are skipped, and a result beyond the limits is marked as `truncated`.

import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs'
import { parentPort, workerData } from 'node:worker_threads'
import { filesBelow } from './walk.mjs'

const maxLineChars = 2_000
const maxFileBytes = 64 * 1024 * 1024
const maxBytes = 256 * 1024 * 1024
const binaryCheckBytes = 8_192
const safeFlags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK

function search(query) {
  return query.target === 'files' ? byName(query) : byContent(query)
}

function byName({ real, path, pattern, limit, offset }) {
  const matches = globOf(pattern)
  const hits = [...filesBelow({ real, path })]
    .filter((file) => matches(file.below))
    .map((file) => ({ path: file.path }))
  return { hits: hits.slice(offset, offset + limit), total: hits.length, truncated: hits.length > offset + limit }
}

function byContent({ real, path, pattern, glob, exclude, limit, offset, context }) {
  const insensitive = pattern.startsWith('(?i)')
  const wanted = new RegExp(insensitive ? pattern.slice(4) : pattern, insensitive ? 'i' : '')
  const matches = glob === undefined ? () => true : globOf(glob)
  const excluded = new Set(exclude)
  const hits = []
  let [total, bytes] = [0, 0]
  for (const file of filesBelow({ real, path })) {
    if (excluded.has(file.path) || !matches(file.below)) continue
    const content = contentOf(file.real)
    if (!content) continue
    bytes += content.length
    if (bytes > maxBytes) return { hits, total, truncated: true }
    for (const hit of hitsIn(content.toString('utf8'), wanted, context)) {
      if (total >= offset && hits.length < limit) hits.push({ path: file.path, ...hit })
      total++
    }
  }
  return { hits, total, truncated: total > offset + hits.length }
}

function* hitsIn(text, wanted, context) {
  const lines = text.split('\n')
  if (lines.at(-1) === '') lines.pop()
  for (const [i, whole] of lines.entries()) {
    const line = clamp(whole)
    if (!wanted.test(line)) continue
    const around = (from, to) => lines.slice(Math.max(0, from), Math.max(0, to)).map(clamp)
    const sides = context ? { before: around(i - context, i), after: around(i + 1, i + 1 + context) } : {}
    yield { line: i + 1, text: line, ...sides }
  }
}

const clamp = (line) => line.slice(0, maxLineChars).replace(/\r$/, '')

/** Undefined for files that are not text. */
function contentOf(real) {
  let descriptor
  try {
    descriptor = openSync(real, safeFlags)
    const stats = fstatSync(descriptor)
    if (!stats.isFile() || stats.size > maxFileBytes) return undefined
    const content = readFileSync(descriptor)
    return content.subarray(0, binaryCheckBytes).includes(0) ? undefined : content
  } catch {
    return undefined // removed or not readable at this moment
  } finally {
    if (descriptor !== undefined) closeSync(descriptor)
  }
}

/** A pattern without a slash is matched against the name alone, one with a slash against the path. */
function globOf(pattern) {
  const trimmed = pattern.replace(/^\.\//, '')
  const expression = new RegExp(`^${translateGlob(trimmed)}$`)
  if (trimmed.includes('/')) return (below) => expression.test(below)
  return (below) => expression.test(below.slice(below.lastIndexOf('/') + 1))
}

function translateGlob(pattern) {
  const braces = /\{([^{}]*,[^{}]*)\}/.exec(pattern)
  if (braces) {
    const [before, after] = [pattern.slice(0, braces.index), pattern.slice(braces.index + braces[0].length)]
    return `(?:${braces[1]
      .split(',')
      .map((each) => translateGlob(before + each + after))
      .join('|')})`
  }
  const meaning = { '**/': '(?:.*/)?', '**': '.*', '*': '[^/]*', '?': '[^/]' }
  return pattern.replace(/\*\*\/|\*\*|\[!?[^\]]*\]|[\s\S]/g, (piece) => meaning[piece] ?? literal(piece))
}

const literal = (piece) =>
  piece.length > 1 ? piece.replace(/^\[!/, '[^').replaceAll('\\', '\\\\') : piece.replace(/[.+^$()|[\]\\{}]/, '\\$&')

// oxlint-disable unicorn/require-post-message-target-origin -- a port of a thread has none
try {
  parentPort.postMessage({ result: search(workerData) })
} catch (error) {
  if (!(error instanceof SyntaxError)) throw error
  const hint = 'Put a backslash before ( ) [ ] { } . * + ? to search for the character itself.'
  parentPort.postMessage({ invalid: [error.message, hint] })
}
