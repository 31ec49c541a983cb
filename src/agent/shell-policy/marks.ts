/**
 * Words of a shell as far as they are known before it runs. What is not known yet stands in the text as a mark: a
 * character of the private use area, which no judged command may contain itself.
 */

/** A word after expansion: text, with marks where only the running shell knows. */
export type Field = string

/** Unknown text within one word, maybe none. */
export const ANY = '\uE000'
/** Unknown text that the shell may split into any number of words. */
export const SPLIT = '\uE001'
/** A pattern over file names: any characters, and exactly one. */
export const STAR = '\uE002'
export const ONE = '\uE003'
/** An unknown number. */
export const NUM = '\uE004'

const MARK = /[\uE000-\uE004]/
const UNKNOWN = /[\uE000\uE001]/
const GLOB = /[\uE002\uE003]/

export const isLiteral = (field: Field): boolean => !MARK.test(field)
export const isUnknown = (field: Field): boolean => UNKNOWN.test(field)
export const isGlob = (field: Field): boolean => GLOB.test(field)

/** Nothing in it comes from elsewhere but numbers: only such text is read as code. Names of files are what anybody called them. */
export const isKnown = (field: Field): boolean => !isUnknown(field) && !isGlob(field)

/** May be an option when it runs, although it does not look like one: nothing of it is known. */
export const mayBeOption = (field: Field): boolean =>
  field !== '' && [...field].every((char) => char === ANY || char === SPLIT)

/** The word as a person reads it. */
export const shown = (field: Field): string =>
  field
    .replace(/[\uE000\uE001\uE004]/g, '…')
    .replaceAll(STAR, '*')
    .replaceAll(ONE, '?')

const wild = (char: string | undefined): boolean => char !== undefined && char !== ONE && MARK.test(char)

/** Whether the field can turn out to be this text. Goes back to the last wildcard only, so it is at worst quadratic. */
export function canBe(field: Field, text: string): boolean {
  let at = 0
  let star = -1
  let mark = 0
  for (let i = 0; i < text.length;) {
    if (wild(field[at])) {
      star = at++
      mark = i
    } else if (at < field.length && (field[at] === ONE || field[at] === text[i])) {
      at++
      i++
    } else if (star >= 0) {
      at = star + 1
      i = ++mark
    } else return false
  }
  while (wild(field[at])) at++
  return at === field.length
}
