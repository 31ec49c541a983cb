/** Predicts what a rollback does to the files, for the question before it. */

export type Checkpoint = {
  readonly n: number
  readonly at: string
  /** Null for the state before a turn. */
  readonly name: string | null
  readonly files: readonly string[]
  readonly count: number
}
export type Difference = {
  readonly files: readonly { readonly path: string; readonly added: number; readonly removed: number }[]
  readonly binary: readonly string[]
  readonly left_out: readonly string[]
}
export type Prediction = {
  readonly restored: readonly string[]
  /** Changed only by people: the rollback leaves them as they are. */
  readonly kept: readonly string[]
  /** Too large for a copy. */
  readonly unkept: readonly string[]
}

/** A checkpoint names the files that its turn changed. A longer list is cut, so that no file of it counts as kept. */
export function predictRollback(n: number, checkpoints: readonly Checkpoint[], changed: Difference): Prediction {
  const undone = checkpoints.filter((one) => one.n <= n)
  const byTurns = new Set(undone.flatMap(({ files }) => files))
  const isCut = undone.some(({ files, count }) => count > files.length)
  const lines = new Map(changed.files.map(({ path, added, removed }) => [path, `${path} +${added} −${removed}`]))
  const names = [...lines.keys(), ...changed.binary]
  const isOfTurn = (name: string): boolean => isCut || byTurns.has(name)
  return {
    restored: names.filter(isOfTurn).map((name) => lines.get(name) ?? name),
    kept: names.filter((name) => !isOfTurn(name)),
    unkept: changed.left_out,
  }
}
