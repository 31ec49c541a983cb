/** Shortens a text to its head and tail, with a note of what is missing between them. */

import { estimateTokens } from './estimate-tokens.ts'

/** Beginnings explain the rest: they get more room. The last tenth is for the note. */
const headShare = 0.7
const tailShare = 0.2

export type TruncatedText = { readonly text: string; readonly isTruncated: boolean }

/** `name`: what the note calls the text. The result has at most `maxChars` characters where the note fits into a tenth. */
export function truncateToChars(text: string, maxChars: number, name: string): TruncatedText {
  if (text.length <= maxChars) return { text, isTruncated: false }
  const head = text.slice(0, wholeLength(text, Math.floor(maxChars * headShare)))
  const tail = text.slice(wholeLength(text, text.length - Math.floor(maxChars * tailShare)))
  const missing = text.length - head.length - tail.length
  const note = `[… ${name}: ${missing} of ${text.length} characters left out here …]`
  return { text: [head.trimEnd(), note, tail.trimStart()].filter(Boolean).join('\n'), isTruncated: true }
}

export function truncateToTokens(text: string, maxTokens: number, name: string): TruncatedText {
  let tokens = estimateTokens(text)
  let result: TruncatedText = { text, isTruncated: false }
  // The remaining text may have more tokens per character than the removed part, so this repeats.
  for (let maxChars = text.length; tokens > maxTokens && maxChars > 0; tokens = estimateTokens(result.text)) {
    maxChars = Math.floor(maxChars * Math.min(0.95, maxTokens / tokens))
    result = truncateToChars(text, maxChars, name)
  }
  return result
}

/** Moves a cut before a pair of surrogates, so that no character is halved. */
const wholeLength = (text: string, length: number): number =>
  /[\udc00-\udfff]/.test(text.charAt(length)) ? length - 1 : length
