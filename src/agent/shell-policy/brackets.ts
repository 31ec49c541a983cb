/** Bracket expressions of patterns: in them a delimiter is a character like others, for most programs. */

/** A bracket at the front is itself; a backslash before the last one is read in two ways and fits nowhere. */
const OPENING = /\[\^?\]?/y
const MEMBER = /\[([:.=])[\w-]+\1\]|\[(?![:.=])|\\[^\]\n]|[^[\]\\\n]/y

/** Behind a bracket expression that begins here; undefined where programs disagree about its end. */
export function bracketEnd(text: string, from: number): number | undefined {
  OPENING.lastIndex = from
  let at = from
  for (let found = OPENING.exec(text); found; found = MEMBER.exec(text)) {
    at += found[0].length
    MEMBER.lastIndex = at
  }
  return text[at] === ']' ? at + 1 : undefined
}
