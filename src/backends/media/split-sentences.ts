/** Splits a long text into pieces for a vendor of speech: at paragraphs, else sentences, else words. */

/** The latest of these ends within the limit wins; earlier kinds win over later ones. */
const boundaries = [/\n\s{0,20}\n/g, /[.!?…。！？]["'”’)\]]?(?=\s|$)|[。！？]/g, /[,;:，、]\s/g, /\s/g] as const

/** A piece is never shorter than this share of the limit, so that a text has few pieces. */
const minShare = 0.4

export function splitSentences(text: string, maxChars: number): readonly string[] {
  const pieces: string[] = []
  let rest = text.trim()
  while (rest.length > maxChars) {
    const end = findEnd(rest.slice(0, maxChars))
    pieces.push(rest.slice(0, end).trim())
    rest = rest.slice(end).trim()
  }
  return [...pieces, rest].filter(Boolean)
}

function findEnd(window: string): number {
  for (const boundary of boundaries) {
    let end = 0
    for (const { index, 0: match } of window.matchAll(boundary)) end = index + match.length
    if (end >= window.length * minShare) return end
  }
  // Not between the halves of a character.
  const last = window.charCodeAt(window.length - 1)
  return last >= 0xd800 && last <= 0xdbff ? window.length - 1 : window.length
}
