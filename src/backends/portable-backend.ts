/** What a backend must be able to do beyond the port, so that a session can take its files from one to another. */

import type { ExecutionBackend, Files, FileStat } from '../agent/model/backend.ts'
import type { Checkpoints } from './checkpoints.ts'
import type { SnapshotEntry } from './virtual/snapshot.ts'

export type { SnapshotEntry }

export type PortableBackend = ExecutionBackend & {
  /** Everything in the workspace and in /tmp, folders before what is in them; no contents. */
  readonly tree: () => Promise<readonly FileStat[]>
  /** The same with contents, in any order that has folders first. Only what is wanted is read where that is possible. */
  readonly snapshot: (wanted?: (path: string) => boolean) => AsyncIterable<SnapshotEntry>
  /** Writes entries over what is there. */
  readonly restore: (entries: AsyncIterable<SnapshotEntry> | Iterable<SnapshotEntry>) => Promise<void>
  /** Removes all files, but not the workspace. */
  readonly clear: () => Promise<void>
  /** Removes everything there is of the session, what runs included. */
  readonly destroy: () => Promise<void>
  /** Where every change is kept as it is made; elsewhere archives have to do. */
  readonly checkpoints?: Checkpoints
  /** The same files, for what a person does. */
  readonly userFiles?: Files
}
