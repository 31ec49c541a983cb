/** How deeply JSON from outside may be nested: what is written, copied or walked later does it with a stack. */

export const mostNested = 100

export function isNestedDeeply(value: unknown, left = mostNested): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (left === 0) return true
  return Object.values(value).some((inner) => isNestedDeeply(inner, left - 1))
}
