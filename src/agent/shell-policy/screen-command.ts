/** Rejects a command text before it is parsed: misleading characters, and texts that are too long. */

const maxChars = 20_000
const maxSegmentChars = 4_096
const maxSegments = 5_000

/** Control characters, unusual spaces, direction marks, invisible characters, private use, lone surrogates. */
const deceptiveCharacters =
  // oxlint-disable-next-line no-control-regex -- this pattern finds control characters
  /[\u0000-\u0008\u000B-\u001F\u007F-\u00A0\u00AD\u061C\u115F\u1160\u1680\u17B4\u17B5\u180B-\u180F\u2000-\u200F\u2028-\u202F\u205F-\u206F\u2800\u3000\u3164\uFEFF\uFFA0\uFFF0-\uFFFB]|\u034F|\p{Variation_Selector}(?<!\uFE0F)|\p{Co}|\p{Cs}|[\u{E0000}-\u{E0FFF}]/u

/** Returns why the text cannot be judged, or undefined. */
export function screenCommand(command: string): string | undefined {
  if (command.length > maxChars) return `The command is ${command.length} characters long.`
  if (deceptiveCharacters.test(command)) return 'The command has invisible, control or look-alike characters in it.'
  const segments = command.split(/[\n;|&]/)
  if (segments.length > maxSegments) return 'The command has too many parts to judge.'
  if (segments.some(({ length }) => length > maxSegmentChars))
    return 'The command has a very long part without a separator.'
  return undefined
}
