/** Matches a pattern: `*` is any characters, `?` is one. Never takes exponential time, unlike a regular expression. */

export function matchesWildcard(pattern: string, text: string): boolean {
  let at = 0
  let inText = 0
  let star = -1
  let mark = 0
  while (inText < text.length) {
    if (pattern[at] === '*') {
      star = at++
      mark = inText
    } else if (at < pattern.length && (pattern[at] === '?' || pattern[at] === text[inText])) {
      at++
      inText++
    } else if (star >= 0) {
      at = star + 1
      inText = ++mark
    } else return false
  }
  while (pattern[at] === '*') at++
  return at === pattern.length
}
