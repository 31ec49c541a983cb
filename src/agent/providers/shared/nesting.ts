/** Limits the nesting of JSON from outside. Serialising, copying and walking it later is recursive. */

export const maxNesting = 100

export function isTooDeeplyNested(value: unknown, levelsLeft = maxNesting): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (levelsLeft === 0) return true
  return Object.values(value).some((inner) => isTooDeeplyNested(inner, levelsLeft - 1))
}
