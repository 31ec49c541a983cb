/**
 * Types of checkpoints, with which a session restores its files to the state before a turn. A checkpoint is the state
 * right before the first change of a turn; a turn that changes nothing has none.
 */

/** A named checkpoint is stored with a run, empty for one of a person, and its name. No id of a run has this sign. */
const nameSign = '~'
export const keyOfName = (name: string, run = ''): string => `${run}${nameSign}${name}`

export function splitKey(key: string): { readonly run: string; readonly name?: string } {
  const at = key.indexOf(nameSign)
  return at < 0 ? { run: key } : { run: key.slice(0, at), name: key.slice(at + 1) }
}

/**
 * The turns whose changes belong to the latest checkpoint. Names that were given during a turn do not end it: it would get a
 * second checkpoint in its middle.
 */
export function listOpenTurns(keysNewestFirst: readonly string[]): readonly string[] {
  const keys = keysNewestFirst.map(splitKey)
  const last = keys.findIndex(({ name }) => name === undefined)
  return keys.slice(0, last < 0 ? keys.length : last + 1).map(({ run }) => run)
}

export type Checkpoint = {
  /** Later checkpoints have larger ids. */
  readonly id: number
  /** The turn before whose first change it was taken, or the key of a name. */
  readonly run: string
  /** Milliseconds since 1970. */
  readonly at: number
  /** The first of the paths that the turn changed. */
  readonly files: readonly string[]
  /** The number of all paths that the turn changed. */
  readonly count: number
  /** Paths that were too large or too many to store; they cannot be restored. */
  readonly left: readonly string[]
}

/** Which changed files are restored: those that the agent changed (default), those at one path, or all. */
export type Selection = { readonly path?: string | undefined; readonly all?: boolean | undefined }

export type Restored = {
  readonly restored: readonly string[]
  /** Not restored, because the user changed them since or they block another path. */
  readonly kept: readonly string[]
  /** Not restored, because their old content was not stored. */
  readonly left: readonly string[]
}

/** A file before and now, or undefined where it does not exist. The content of a link is its target. */
export type Change = {
  readonly path: string
  readonly before: Uint8Array | undefined
  readonly after: Uint8Array | undefined
}

export type Checkpoints = {
  /** Assigns the agent's changes from now on to this turn. */
  readonly begin: (run: string) => void
  /** Takes a checkpoint now. False: it could not be stored. */
  readonly mark: (key: string) => boolean | Promise<boolean>
  /** Newest first. */
  readonly list: () => readonly Checkpoint[] | Promise<readonly Checkpoint[]>
  readonly has: (id: number, run: string) => boolean
  /** Changed files in order of path. Files above `maxBytes` are listed without content. */
  readonly changes: (
    id: number,
    maxBytes: number,
  ) => AsyncIterable<Change | { readonly path: string; readonly tooLarge: true }>
  /** Does the asynchronous part of `restore` in advance. Idempotent. */
  readonly prepare: (id: number, selection: Selection) => Promise<void>
  /** Synchronous, for the caller's transaction. Undefined when the files have changed since `prepare`. */
  readonly restore: (id: number, selection: Selection) => Restored | undefined
  /** Finishes a `restore`, outside of the transaction. Until then the files are not accessible. */
  readonly finishRestore: () => Promise<void>
}

export const checkpointLimits = {
  checkpoints: 20,
  bytes: 500 * 1024 * 1024,
  fileBytes: 10 * 1024 * 1024,
  files: 50_000,
  ageMs: 7 * 24 * 3_600_000,
} as const

export type CheckpointLimits = { readonly [Name in keyof typeof checkpointLimits]: number }
