/** Removes invisible characters from texts of the web, in which a page could hide orders to the model. */

/** Characters that nobody sees, and marks that change the order of others. Joiners stay: emoji and scripts need them. */
const invisible =
  /[\u00AD\u061C\u115F\u1160\u180E\u200B\u200E\u200F\u202A-\u202E\u2060-\u2064\u2066-\u206F\u2800\u3164\uFEFF\uFFA0\uFFF9-\uFFFB]|[\u{E0000}-\u{E0FFF}]/gu

export const removeInvisible = (text: string): string => text.replace(invisible, '')

/** Applies it to all texts and names of a JSON value. */
export function removeInvisibleFrom<Value>(value: Value): Value
export function removeInvisibleFrom(value: unknown): unknown {
  if (typeof value === 'string') return removeInvisible(value)
  if (Array.isArray(value)) return value.map((item) => removeInvisibleFrom(item))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [removeInvisible(name), removeInvisibleFrom(item)]),
  )
}
