/** Finds the versions of a file in the checkpoints of its session. */

type Checkpoint = { readonly n: number; readonly files: readonly string[] }

/**
 * The numbers of the checkpoints before whose turns the file had another version, oldest first. `hasOldest`: the file was
 * there before the first of these turns.
 */
export function listVersions(checkpoints: readonly Checkpoint[], path: string): readonly number[] {
  return checkpoints
    .filter(({ files }) => files.includes(path))
    .map(({ n }) => n)
    .toSorted((one, other) => other - one)
}
