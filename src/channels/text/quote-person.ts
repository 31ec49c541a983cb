/** Makes what a platform says about a person harmless in a prompt: display names are chosen by strangers. */

const maxNameChars = 80
const maxLineChars = 1_000

/**
 * One line without control, format and markup characters. A name can then neither begin a line, nor look like a heading,
 * a fence or the mark of another speaker.
 */
export function escapeName(name: string): string {
  const plain = name
    .slice(0, 1_000)
    .normalize('NFC')
    .replace(/[#*_`~<>[\](){}|\\:"“”]/g, '')
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, ' ')
    .trim()
  const bounded = [...plain].slice(0, maxNameChars).join('').trim()
  return bounded || 'somebody'
}

/** The line of a speaker. Further lines are indented, so that none of them looks like the line of another speaker. */
export const renderSpeaker = (name: string, text: string): string =>
  `${escapeName(name)}: ${text.replace(/\r\n?|[\u2028\u2029]/g, '\n').replaceAll('\n', '\n  ')}`

/** A line of the group for the context of a later turn, bounded. */
export function renderContextLine(name: string, text: string): string {
  const line = renderSpeaker(name, text)
  return line.length > maxLineChars ? `${line.slice(0, maxLineChars)}…` : line
}
