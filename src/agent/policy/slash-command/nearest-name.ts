/** Finds the name that was probably meant by a misspelled one. */

import { countEdits } from './edit-distance.ts'

/** A third of the letters may differ, at least one; two of them when letters are swapped. */
const maxEdits = ({ length }: string): number => Math.max(2, Math.floor(length / 3))

/** Undefined when no name is near. The beginning of exactly one name counts as that name. */
export function findNearestName(name: string, names: readonly string[]): string | undefined {
  const longer = names.filter((one) => name.length > 1 && one.startsWith(name))
  if (longer.length === 1) return longer[0]
  let best: { readonly name: string; readonly edits: number } | undefined
  for (const one of names) {
    const edits = countEdits(name, one)
    if (edits <= maxEdits(one) && edits < Math.min(best?.edits ?? Infinity, one.length)) best = { name: one, edits }
  }
  return best?.name
}
