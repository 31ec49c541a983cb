/** Finds addresses in a text. Their characters are never marks of a style. */

/**
 * Brackets belong to an address in pairs, an opening one also alone. A single `*` between its characters does; any other
 * closes a style, as in `**https://a.example**`.
 */
export const bareUrls =
  /https?:\/\/(?:[^\s<>*`()[\]]+|\([^\s<>()*`]*\)|\[[^\s<>[\]*`]*\]|[([]|(?<!\*)\*(?=[\w/%&=]))+/gi

const bareUrlHere = new RegExp(bareUrls, 'iy')

/** Returns the address that begins at a position. */
export function matchBareUrl(text: string, at: number): string | undefined {
  if (/\w/.test(text[at - 1] ?? '')) return undefined
  bareUrlHere.lastIndex = at
  return bareUrlHere.exec(text)?.[0]
}

const punctuation = '.,;:!?\'"'

/** Leaves out the punctuation of a sentence behind an address. */
export const withoutPunctuation = (url: string): string => trimEnd(url, punctuation)

/** Also leaves out marks, which may close a style that began in front of the address. */
export const withoutMarks = (url: string): string => trimEnd(url, `${punctuation}*_~|`)

function trimEnd(text: string, chars: string): string {
  let end = text.length
  while (end > 0 && chars.includes(text[end - 1] ?? '')) end--
  return text.slice(0, end)
}
