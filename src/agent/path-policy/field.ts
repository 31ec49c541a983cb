/**
 * Represents words of a shell as far as they are known before it runs. Marks stand for unknown parts: characters of the
 * private use area, which shell-policy/screen-command.ts rejects in commands.
 */

/** A word after expansion: text with marks for its unknown parts. */
export type Field = string

/** Unknown text within one word. It may be empty. */
export const anyText = '\uE000'
/** Unknown text that the shell may split into any number of words. */
export const anyWords = '\uE001'
/** Wildcards of a pattern over file names. */
export const anyCharacters = '\uE002'
export const anyCharacter = '\uE003'
/** An unknown number. */
export const anyNumber = '\uE004'

/** All marks, for removing them from a text. Those from U+E010 on are names that a program prints. */
export const marks = /[\uE000-\uE004\uE010-\uE0FF]/g
const markPattern = /[\uE000-\uE004\uE010-\uE0FF]/
const unknownPattern = /[\uE000\uE001\uE010-\uE0FF]/
const globPattern = /[\uE002\uE003]/

export const isLiteral = (field: Field): boolean => !markPattern.test(field)
export const isUnknown = (field: Field): boolean => unknownPattern.test(field)
export const isGlob = (field: Field): boolean => globPattern.test(field)

/** Whether only numbers are unknown. Only such text is read as code, because file names may contain anything. */
export const isKnown = (field: Field): boolean => !isUnknown(field) && !isGlob(field)

/** Renders a field for messages, with `…` for unknown parts. */
export const renderField = (field: Field): string =>
  field
    .replace(/[\uE000\uE001\uE004\uE010-\uE0FF]/g, '…')
    .replaceAll(anyCharacters, '*')
    .replaceAll(anyCharacter, '?')

const isWildcard = (char: string | undefined): boolean =>
  char !== undefined && char !== anyCharacter && markPattern.test(char)

/**
 * Whether the field can become this text at run time. Backtracks only to the last wildcard, so it is at worst
 * quadratic.
 */
export function canMatch(field: Field, text: string): boolean {
  let at = 0
  let star = -1
  let mark = 0
  for (let i = 0; i < text.length;) {
    if (isWildcard(field[at])) {
      star = at++
      mark = i
    } else if (at < field.length && (field[at] === anyCharacter || field[at] === text[i])) {
      at++
      i++
    } else if (star >= 0) {
      at = star + 1
      i = ++mark
    } else return false
  }
  while (isWildcard(field[at])) at++
  return at === field.length
}

const maxOverlapChars = 400

/**
 * Whether two patterns can stand for the same text. A wildcard of file names matches no dot at the start of a name,
 * unknown text does.
 */
export function overlaps(field: Field, pattern: Field): boolean {
  if (field.length > maxOverlapChars) return true
  if (isGlob(field[0] ?? '') && pattern.startsWith('.')) return false
  let row: readonly boolean[] = [...pattern].reduce<readonly boolean[]>(
    (cells, char, i) => [...cells, cells[i] === true && isWildcard(char)],
    [true],
  )
  for (const char of field) row = nextRow(row, char, pattern)
  return row.at(-1) === true
}

/** Extends the table of which beginnings of the two patterns overlap by one character. */
function nextRow(row: readonly boolean[], char: string, pattern: Field): readonly boolean[] {
  const next = [row[0] === true && isWildcard(char)]
  for (const [j, other] of [...pattern].entries()) {
    const isSame = char === other || char === anyCharacter || other === anyCharacter
    const isEither = isWildcard(char) || isWildcard(other)
    const wasReached = row[j] === true
    next.push((isSame && wasReached) || (isEither && (wasReached || row[j + 1] === true || next[j] === true)))
  }
  return next
}
