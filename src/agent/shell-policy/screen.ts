/** What is asked about before anything is parsed: text that a person and a shell would read differently, and too much of it. */

const MAX_LENGTH = 20_000
const MAX_UNBROKEN = 4_096
const MAX_SEGMENTS = 5_000

/** Control characters, spaces that are none, marks of direction, invisible characters, private use, halves of a pair. */
const ODD =
  // oxlint-disable-next-line no-control-regex -- control characters are what this looks for
  /[\u0000-\u0008\u000B-\u001F\u007F-\u00A0\u00AD\u061C\u115F\u1160\u1680\u17B4\u17B5\u180B-\u180F\u2000-\u200F\u2028-\u202F\u205F-\u206F\u2800\u3000\u3164\uFEFF\uFFA0\uFFF0-\uFFFB]|\u034F|\p{Variation_Selector}(?<!\uFE0F)|\p{Co}|\p{Cs}|[\u{E0000}-\u{E0FFF}]/u

/** Why the text cannot be judged, or undefined when it can. */
export function screen(command: string): string | undefined {
  if (command.length > MAX_LENGTH) return `The command is ${command.length} characters long.`
  if (ODD.test(command)) return 'The command has invisible, control or look-alike characters in it.'
  const segments = command.split(/[\n;|&]/)
  if (segments.length > MAX_SEGMENTS) return 'The command has too many parts to judge.'
  if (segments.some(({ length }) => length > MAX_UNBROKEN))
    return 'The command has a very long stretch without a break.'
  return undefined
}
