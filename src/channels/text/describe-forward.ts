/** Marks text that a person passes on, so that it is not taken for their own words. */

import { escapeName } from './quote-person.ts'

/** `from`: who wrote it, where the platform tells. */
export const describeForward = (text: string, from?: string): string =>
  `[Forwarded${from ? ` from ${escapeName(from)}` : ''}:]\n${text}`

/** Stands for a message of an unknown kind. */
export const unreadable = '[a message of a kind that cannot be read here]'

const maxNoteChars = 1_000

/** Content that is neither text nor a file, in brackets on one line. */
export function describeContent(kind: string, ...details: readonly (string | number | undefined)[]): string {
  const text = details
    .filter((detail) => detail !== undefined && detail !== '')
    .join(', ')
    .replace(/\s+/g, ' ')
    .replaceAll('[', '(')
    .replaceAll(']', ')')
  const shown = text.length > maxNoteChars ? `${text.slice(0, maxNoteChars)}…` : text
  return shown ? `[${kind}: ${shown}]` : `[${kind}]`
}
