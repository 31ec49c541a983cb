/** Truncates the parts of messages that a compression shortens. */

/** Cuts the middle out of a text and says how much is missing. */
export function truncateMiddle(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text
  const half = Math.floor(maxChars / 2)
  return `${text.slice(0, half)}\n[… ${text.length - 2 * half} characters left out …]\n${half ? text.slice(-half) : ''}`
}

/** Renders a text as one line of limited length. */
export function toLine(text: string, maxChars: number): string {
  // Twice the length is enough: the rest is cut anyway.
  const line = text
    .slice(0, 2 * maxChars)
    .replaceAll(/\s+/g, ' ')
    .trim()
  return line.length > maxChars || text.length > 2 * maxChars ? `${line.slice(0, maxChars).trimEnd()}…` : line
}
