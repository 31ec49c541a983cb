/** Defines a backend whose files can be moved to another one, with the operations that moving needs. */

import type { ExecutionBackend, Files, FileStat } from '#agent/core/backend.ts'
import type { Checkpoints } from './checkpoints.ts'
import type { SnapshotEntry } from './virtual/snapshot.ts'

export type { SnapshotEntry }

/** `isPartial`: not everything below the folder is listed. */
export type TreeEntry = FileStat & { readonly isPartial?: boolean }

/** Folders that their tools can regenerate, and that are often useless on another host. They may be listed without contents. */
export const regeneratedFolders: ReadonlySet<string> = new Set(['node_modules', '.venv', '__pycache__'])

export type PortableBackend = ExecutionBackend & {
  /** Everything in the workspace and in /tmp without contents; a folder comes before its contents. */
  readonly tree: () => Promise<readonly TreeEntry[]>
  /** The same with contents, in any order that has folders before their contents. `isWanted` filters by path. */
  readonly snapshot: (isWanted?: (path: string) => boolean) => AsyncIterable<SnapshotEntry>
  /** Writes entries; existing files are overwritten. */
  readonly restore: (entries: AsyncIterable<SnapshotEntry> | Iterable<SnapshotEntry>) => Promise<void>
  /** Removes all files, but not the workspace itself. */
  readonly clear: () => Promise<void>
  /** Removes everything of the session, including running processes. */
  readonly destroy: () => Promise<void>
  /** Only on backends that record every change. For others the session stores archives. */
  readonly checkpoints?: Checkpoints
  /** The same files, for changes by the user. */
  readonly userFiles?: Files
}
