/**
 * Shows characters that cannot be seen, or that change the order of others, as `\u{200B}`. Whoever approves a call then
 * reads what runs.
 */

/** Controls but for tab and newline, marks of direction, invisible characters, private use, lone surrogates. */
const hiddenCharacters =
  // oxlint-disable-next-line no-control-regex -- this pattern finds control characters
  /[\u0000-\u0008\u000B-\u001F\u007F-\u00A0\u00AD\u061C\u115F\u1160\u1680\u17B4\u17B5\u180B-\u180F\u2000-\u200F\u2028-\u202F\u205F-\u206F\u2800\u3000\u3164\uFEFF\uFFA0\uFFF0-\uFFFB]|\u034F|\p{Variation_Selector}(?<!\uFE0F)|\p{Co}|\p{Cs}|[\u{E0000}-\u{E0FFF}]/gu

export const showHidden = (text: string): string =>
  text.replace(
    hiddenCharacters,
    (char) => `\\u{${(char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}}`,
  )

/** Applies it to all texts and names of a JSON value. */
export function showHiddenInValue(value: unknown): unknown {
  if (typeof value === 'string') return showHidden(value)
  if (Array.isArray(value)) return value.map(showHiddenInValue)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [showHidden(key), showHiddenInValue(item)]))
}
