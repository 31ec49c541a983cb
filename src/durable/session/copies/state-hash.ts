/**
 * Hashes what a session had when a run had ended: its messages and its files, without ids and times. Two sessions with
 * the same hash cannot be told apart, so a copy of one tells nothing to whoever knows the other.
 */

import type { Entry } from '#agent/core/history.ts'
import { snapshotAfter } from './earlier-files.ts'
import type { Session } from '../session.ts'
import { sha256Base64 } from '#durable/platform/hash.ts'

/** Larger states are not compared. */
const maxBytes = 64 * 1024 * 1024

/** Undefined when the state is too large to compare. */
export async function hashState(session: Session, runId: string): Promise<string | undefined> {
  const messages: string[] = []
  let size = 0
  for (const { n } of rowsThrough(session, runId))
    for (const entry of session.journal.row(n).row.entries) {
      const text = JSON.stringify(contentOf(entry))
      size += text.length
      if (size > maxBytes) return undefined
      messages.push(text)
    }
  const files: string[] = []
  const { root } = session.toolRuntime.backend.capabilities
  for await (const entry of snapshotAfter(session, runId)) {
    if (entry.kind === 'directory' || !entry.path.startsWith(`${root}/`)) continue
    const bytes = entry.kind === 'file' ? entry.bytes : new TextEncoder().encode(entry.target)
    size += bytes.byteLength
    if (size > maxBytes) return undefined
    files.push(`${entry.path}\n${await sha256Base64(bytes)}`)
  }
  return sha256Base64(JSON.stringify([messages, files.toSorted()]))
}

function rowsThrough({ journal }: Session, runId: string) {
  const rows = journal.listRows()
  return rows.slice(0, rows.findLastIndex(({ run }) => run === runId) + 1)
}

/** Ids of calls differ between runs that did the same. */
function contentOf({ message }: Entry): unknown {
  if (message.role === 'tool') return [message.role, message.name, message.content, message.failed]
  if (message.role === 'user') return [message.role, message.content]
  return [message.role, message.content.map((part) => (part.type === 'call' ? [part.name, part.input] : part))]
}
