/**
 * Applies changes to the entries of one store of memory. A batch counts as a whole: the limit holds for its result, and one
 * wrong operation refuses all (docs/design/memory.md).
 */

import type { MemoryOperation, MemoryView } from '#agent/core/recall/memory.ts'

/** Stands between entries, in the store's length and in the prompt. */
export const entrySeparator = '\n§\n'

export const defaultMemoryLimits = { memory: 2_200, user: 1_375, project: 2_200 } as const

const maxPreviewChars = 80
const maxPreviews = 5

export type StoreChange =
  | { readonly kind: 'done'; readonly entries: readonly string[]; readonly isChanged: boolean }
  | { readonly kind: 'refused'; readonly error: string }

export const viewEntries = (entries: readonly string[], limit: number): MemoryView => ({
  entries,
  chars: entries.join(entrySeparator).length,
  limit,
})

export function applyOperations(
  before: readonly string[],
  operations: readonly MemoryOperation[],
  limit: number,
): StoreChange {
  let entries = before
  for (const [index, operation] of operations.entries()) {
    const changed = applyOne(entries, operation)
    if (typeof changed === 'string') return { kind: 'refused', error: inBatch(changed, index, operations.length) }
    entries = changed
  }
  const { chars } = viewEntries(entries, limit)
  // A store that a lower limit has made too long may still become shorter.
  const isTooLong = chars > limit && chars >= viewEntries(before, limit).chars
  const isChanged = entries !== before && JSON.stringify(entries) !== JSON.stringify(before)
  if (isTooLong && isChanged) return { kind: 'refused', error: explainFull(chars, limit) }
  return { kind: 'done', entries, isChanged }
}

const inBatch = (error: string, index: number, count: number): string =>
  count > 1 ? `Operation ${index + 1} of ${count}: ${error} Nothing was changed.` : error

const explainFull = (chars: number, limit: number): string =>
  `The store would have ${chars} characters, and ${limit} is the limit. Nothing was changed. Shorten or merge entries, or remove what matters least, in one call with operations that also has the new entry.`

/** Returns the error for an operation that cannot be applied. */
function applyOne(entries: readonly string[], operation: MemoryOperation): readonly string[] | string {
  const content = operation.action === 'remove' ? '' : operation.content.trim()
  if (operation.action !== 'remove' && !content) return 'An entry needs text.'
  if (content.split('\n').some((line) => line.trim() === '§')) return 'An entry may not have a line with § alone.'
  if (operation.action === 'add') return entries.includes(content) ? entries : [...entries, content]
  const found = findEntry(entries, operation.oldText)
  if (typeof found === 'string') return found
  if (operation.action === 'remove') return entries.filter((_entry, index) => index !== found)
  // An entry that becomes equal to another one is kept once.
  const replaced = entries.map((entry, index) => (index === found ? content : entry))
  return replaced.filter((entry, index) => entry !== content || replaced.indexOf(content) === index)
}

/** Returns the index of the only entry with the text, or the error. A whole entry wins over entries that contain it. */
function findEntry(entries: readonly string[], text: string): number | string {
  const wanted = text.trim()
  if (!wanted) return 'old_text is empty: give a part of the entry.'
  const whole = entries.indexOf(wanted)
  if (whole >= 0) return whole
  const found = entries.flatMap((entry, index) => (entry.includes(wanted) ? [index] : []))
  const [first] = found
  if (first !== undefined && found.length === 1) return first
  const shown = found.length ? found.map((index) => entries[index] ?? '') : entries
  const previews = shown.slice(0, maxPreviews).map((entry) => `"${shorten(entry)}"`)
  const more = shown.length > maxPreviews ? `, and ${shown.length - maxPreviews} more` : ''
  if (found.length)
    return `${found.length} entries contain this old_text: ${previews.join(', ')}${more}. Give a longer part.`
  const all = previews.length ? `There are: ${previews.join(', ')}${more}.` : 'There are no entries.'
  return `No entry contains this old_text. ${all}`
}

const shorten = (entry: string): string => {
  const line = entry.replaceAll('\n', ' ')
  return line.length > maxPreviewChars ? `${line.slice(0, maxPreviewChars)}…` : line
}
