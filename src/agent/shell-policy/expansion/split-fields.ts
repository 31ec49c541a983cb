/** Splits the pieces of an expanded word into fields, at the characters of IFS. */

import { anyCharacter, anyCharacters, anyText, anyWords, type Field } from '#agent/path-policy/field.ts'

/** `split`: the shell splits the text at separators. `fields`: several words, as of `"$@"`. */
type WordPiece = { readonly text: Field; readonly split: boolean } | { readonly fields: readonly Field[] }
export type WordPieces = readonly WordPiece[]

/** `ifs` is undefined when its value is not known. */
export function splitFields(pieces: WordPieces, ifs: string | undefined): readonly Field[] {
  const fields: Field[] = []
  let current: Field | undefined
  const splitInto = (text: Field): void => {
    for (const char of text) {
      if (ifs?.includes(char)) {
        if (current !== undefined) fields.push(current)
        current = undefined
      } else current = (current ?? '') + (activeCharacters[char] ?? char)
    }
  }
  for (const piece of pieces) {
    if ('fields' in piece) {
      piece.fields.forEach((field, i) => {
        if (i > 0 && current !== undefined) fields.push(current)
        current = i > 0 ? field : (current ?? '') + field
      })
    } else if (!piece.split) current = (current ?? '') + piece.text
    else if (ifs === undefined) current = (current ?? '') + anyWords
    else splitInto(piece.text)
  }
  return current === undefined ? fields : [...fields, current]
}

/** These characters are patterns when a variable is expanded without quotes. */
const activeCharacters: Readonly<Record<string, string>> = {
  '*': anyCharacters,
  '?': anyCharacter,
  '[': anyCharacters,
  [anyText]: anyWords,
}
