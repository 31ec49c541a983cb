/** Compares an entry of a backup with what the server has after it was restored. */

import { createHash } from 'node:crypto'

/** Undefined when both are the same; else what differs, in a few words. */
export function findDifference(name, given, found) {
  if (hashOf(given) === hashOf(found)) return undefined
  if (/^(?:blob|kept):/.test(name)) return `${given.length} bytes, restored ${found.length}`
  const kind = name.split(':', 1)[0]
  const [wanted, held] = [linesOf(given), linesOf(found)].map((lines) => lines.map((line) => plain(kind, line)))
  const present = new Set(held)
  const missing = wanted.filter((line) => !present.has(line))
  if (missing.length)
    return `${missing.length} of ${wanted.length} lines are missing, first: ${missing[0].slice(0, 200)}`
  // Restoring is itself an entry of the audit log.
  return kind === 'rows' || wanted.length === held.length
    ? undefined
    : `${held.length} lines instead of ${wanted.length}`
}

const hashOf = (bytes) => createHash('sha256').update(bytes).digest('hex')
const linesOf = (bytes) => bytes.toString('utf8').split('\n').filter(Boolean)

/** Without what a restored session does not go on with: the work on its goal, and the instance of its host. */
function plain(kind, line) {
  if (kind !== 'session' || !line.startsWith('{"session":')) return line
  const { goal, machine, ...rest } = JSON.parse(line).session
  const fields = { ...rest, ...(goal && { goal: goal.text }), ...(machine && { machine: machine.kind }) }
  return JSON.stringify(Object.entries(fields).toSorted(([a], [b]) => (a < b ? -1 : 1)))
}
