/** Reads and writes a whole workspace as a stream of entries, one file in memory at a time. */

import type { SqlFiles } from './sql-files.ts'

export type SnapshotEntry = { readonly path: string; readonly mode: number; readonly modified: number } & (
  | { readonly kind: 'file'; readonly bytes: Uint8Array }
  | { readonly kind: 'link'; readonly target: string }
  | { readonly kind: 'directory' }
)

/** A directory comes before its contents. */
export async function* snapshot(files: SqlFiles): AsyncGenerator<SnapshotEntry> {
  for (const { path, kind, mode, modified } of files.walk('/')) {
    if (kind === 'file') yield { path, mode, modified, kind, bytes: await files.read(path) }
    else if (kind === 'link') yield { path, mode, modified, kind, target: files.readlink(path) }
    else yield { path, mode, modified, kind }
  }
}

/** Writes all entries over existing files; other files stay. */
export async function restore(
  files: SqlFiles,
  entries: AsyncIterable<SnapshotEntry> | Iterable<SnapshotEntry>,
): Promise<void> {
  for await (const entry of entries) {
    if (entry.kind === 'directory') {
      files.mkdir(entry.path, true)
      files.change(entry.path, { mode: entry.mode })
    } else if (entry.kind === 'file') await files.write(entry.path, entry.bytes, entry)
    else {
      await files.remove(entry.path, { recursive: true, force: true })
      files.symlink(entry.target, entry.path)
    }
  }
}
