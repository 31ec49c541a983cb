/** Finds the end of a bracket expression in a pattern. Most programs do not treat a delimiter inside it as one. */

/** A bracket at the start is literal. A backslash before the last bracket is ambiguous and does not match. */
const openingPattern = /\[\^?\]?/y
const memberPattern = /\[([:.=])[\w-]+\1\]|\[(?![:.=])|\\[^\]\n]|[^[\]\\\n]/y

/** Returns the position after the expression, or undefined where programs disagree about its end. */
export function findBracketEnd(text: string, from: number): number | undefined {
  openingPattern.lastIndex = from
  let at = from
  for (let found = openingPattern.exec(text); found; found = memberPattern.exec(text)) {
    at += found[0].length
    memberPattern.lastIndex = at
  }
  return text[at] === ']' ? at + 1 : undefined
}
