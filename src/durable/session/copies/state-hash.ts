/**
 * Hashes what a session had when a run had ended: its messages and its files, without ids and times. Two sessions with
 * the same hash cannot be told apart, so a copy of one tells nothing to whoever knows the other.
 */

import type { Entry } from '#agent/core/history.ts'
import { snapshotAfter } from './earlier-files.ts'
import type { Session } from '../session.ts'
import { encodeBase64Bytes } from '#agent/core/base64.ts'
import { sha256Base64 } from '#durable/platform/hash.ts'

/** Larger states are not compared. */
const maxBytes = 64 * 1024 * 1024
/** So many characters are hashed at a time. */
const pieceChars = 256 * 1024

/** Undefined when the state is too large to compare. */
export async function hashState(session: Session, runId: string): Promise<string | undefined> {
  const hash = new StateHash()
  let size = 0
  for (const { n } of rowsThrough(session, runId))
    for (const entry of session.journal.row(n).row.entries) {
      const text = JSON.stringify(contentOf(entry))
      size += text.length
      if (size > maxBytes) return undefined
      await hash.addMessage(text)
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
  return hash.end(files.toSorted())
}

/** Hashes the JSON of `[messages, files]` without holding it. */
class StateHash {
  readonly #stream = new crypto.DigestStream('SHA-256')
  readonly #writer = this.#stream.getWriter()
  readonly #encoder = new TextEncoder()
  #open = '[['
  #hasMessages = false

  async addMessage(text: string): Promise<void> {
    this.#open += `${this.#hasMessages ? ',' : ''}${JSON.stringify(text)}`
    this.#hasMessages = true
    if (this.#open.length > pieceChars) await this.#flush()
  }

  async end(files: readonly string[]): Promise<string> {
    this.#open += `],${JSON.stringify(files)}]`
    await this.#flush()
    await this.#writer.close()
    return encodeBase64Bytes(new Uint8Array(await this.#stream.digest))
  }

  async #flush(): Promise<void> {
    const bytes = this.#encoder.encode(this.#open)
    this.#open = ''
    await this.#writer.write(bytes)
  }
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
