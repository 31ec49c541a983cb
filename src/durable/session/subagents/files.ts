/** Copies the workspace of a parent to a subagent, and finds what the subagent has changed since. */

import type { SnapshotEntry } from '#backends/portable-backend.ts'
import { pack, unpack } from '#backends/tar.ts'
import { byteStream } from '#durable/platform/byte-stream.ts'
import { hasWorkspaceFiles } from '#durable/storage/storage-usage.ts'
import type { Session } from '../session.ts'
import { sha256Hex } from '#durable/platform/hash.ts'

/** Paths are relative to the workspace. `base`: the digest of the copied file that was changed or deleted. */
export type SubagentFileChange = {
  readonly path: string
  readonly change: 'created' | 'modified' | 'deleted'
  readonly base?: string
  readonly digest?: string
}

export type FileChanges = {
  readonly list: readonly SubagentFileChange[]
  /** A tar archive of the created and modified files. Absent when there are none. */
  readonly archive?: ReadableStream<Uint8Array>
}

const schema = 'CREATE TABLE IF NOT EXISTS baseline (path TEXT PRIMARY KEY, digest TEXT NOT NULL) WITHOUT ROWID'
const maxCopiedBytes = 50 * 1024 * 1024

/** The files of a workspace as a tar archive: up to 50 MB. */
export const packFiles = (session: Session): ReadableStream<Uint8Array> =>
  byteStream(pack(withinSize(createFiles(session, () => true))))

async function* withinSize(entries: AsyncIterable<SnapshotEntry>): AsyncGenerator<SnapshotEntry> {
  let left = maxCopiedBytes
  for await (const entry of entries) {
    const bytes = entry.kind === 'file' ? entry.bytes.length : 0
    if (bytes > left) continue
    left -= bytes
    yield entry
  }
}

/** Receives the files of the parent, and records what they are. It can be repeated. */
export async function receiveFiles(session: Session, archive: ReadableStream<Uint8Array>): Promise<void> {
  const { sql, toolRuntime } = session
  sql.exec(schema)
  sql.exec('DELETE FROM baseline')
  const { root } = toolRuntime.backend.capabilities
  await toolRuntime.backend.restore(recorded(unpack(archive), sql, root))
}

async function* recorded(
  entries: AsyncIterable<SnapshotEntry>,
  sql: SqlStorage,
  root: string,
): AsyncGenerator<SnapshotEntry> {
  for await (const entry of entries) {
    const path = entry.path.replace(/\/$/, '')
    if (entry.kind === 'file')
      sql.exec('INSERT OR REPLACE INTO baseline VALUES (?, ?)', path, await digestOf(entry.bytes))
    yield { ...entry, path: `${root}/${path}` }
  }
}

/** The differences from the copied files. */
export async function findChanges(session: Session): Promise<FileChanges> {
  const base = readBaseline(session.sql)
  const list: SubagentFileChange[] = []
  const seen = new Set<string>()
  for await (const { path, kind, ...entry } of createFiles(session, () => true)) {
    if (kind !== 'file' || !('bytes' in entry)) continue
    seen.add(path)
    const digest = await digestOf(entry.bytes)
    const known = base.get(path)
    if (known === digest) continue
    list.push({
      path,
      change: known === undefined ? 'created' : 'modified',
      ...(known !== undefined && { base: known }),
      digest,
    })
  }
  for (const [path, digest] of base) if (!seen.has(path)) list.push({ path, change: 'deleted', base: digest })
  const wanted = new Set(list.flatMap(({ path, change }) => (change === 'deleted' ? [] : [path])))
  return { list, ...(wanted.size && { archive: byteStream(pack(createFiles(session, (path) => wanted.has(path)))) }) }
}

/** The entries of the workspace with relative paths. A host is not started for a session that never had files. */
async function* createFiles(session: Session, isWanted: (path: string) => boolean): AsyncGenerator<SnapshotEntry> {
  const { sql, meta, toolRuntime } = session
  if (meta.machine === undefined && !hasWorkspaceFiles(sql)) return
  const { backend } = toolRuntime
  const prefix = `${backend.capabilities.root}/`
  const isInside = (path: string) => path.startsWith(prefix) && isWanted(path.slice(prefix.length))
  for await (const entry of backend.snapshot(isInside))
    if (isInside(entry.path)) yield { ...entry, path: entry.path.slice(prefix.length) }
}

function readBaseline(sql: SqlStorage): ReadonlyMap<string, string> {
  const exists = sql.exec("SELECT 1 FROM sqlite_master WHERE name = 'baseline'").toArray().length > 0
  const rows = exists ? sql.exec<{ path: string; digest: string }>('SELECT path, digest FROM baseline').toArray() : []
  return new Map(rows.map(({ path, digest }) => [path, digest]))
}

/** The stored baseline has such hashes. */
export const digestOf = (bytes: Uint8Array): Promise<string> => sha256Hex(bytes, 16)
