/**
 * What a backend keeps so that a session can go back to how its files were before a turn. A checkpoint is the state
 * right before the first change of one turn; a turn that changes nothing has none.
 */

export type Checkpoint = {
  /** The newest has the largest. */
  readonly id: number
  /** The turn whose first change it stands before. */
  readonly run: string
  /** Milliseconds since 1970. */
  readonly at: number
  /** What the turn changed, the first of them. */
  readonly files: readonly string[]
  /** How many it changed in all. */
  readonly count: number
  /** What was too large or too much to keep: it will not come back. */
  readonly left: readonly string[]
}

/** Which of the files that changed since are put back: those of the agent, one, or all. */
export type Selection = { readonly path?: string | undefined; readonly all?: boolean | undefined }

export type Restored = {
  readonly restored: readonly string[]
  /** Changed by a person since, or in the way of something that was: they stay as they are. */
  readonly kept: readonly string[]
  /** Their old content was not kept. */
  readonly left: readonly string[]
}

/** A file then and now; undefined where there was or is none. Links are their targets. */
export type Change = {
  readonly path: string
  readonly before: Uint8Array | undefined
  readonly after: Uint8Array | undefined
}

export type Checkpoints = {
  /** What the agent changes from now on belongs to this turn. */
  readonly begin: (run: string) => void
  /** Newest first. */
  readonly list: () => readonly Checkpoint[] | Promise<readonly Checkpoint[]>
  readonly has: (id: number, run: string) => boolean
  /** Files that are not as they were, in order of path; those above `maxBytes` come without being read. */
  readonly changes: (
    id: number,
    maxBytes: number,
  ) => AsyncIterable<Change | { readonly path: string; readonly tooLarge: true }>
  /** Does what takes time, so that `restore` need not wait. Repeating it changes nothing. */
  readonly prepare: (id: number, selection: Selection) => Promise<void>
  /** In one stretch, for the caller's transaction. Undefined: the files have changed since `prepare`. */
  readonly restore: (id: number, selection: Selection) => Restored | undefined
  /** Does what is left to do after `restore`. Until it is done, nobody sees the files. */
  readonly sweep: () => Promise<void>
}

export const checkpointLimits = {
  checkpoints: 20,
  bytes: 500 * 1024 * 1024,
  fileBytes: 10 * 1024 * 1024,
  files: 50_000,
  ageMs: 7 * 24 * 3_600_000,
} as const

export type CheckpointLimits = { readonly [Name in keyof typeof checkpointLimits]: number }
