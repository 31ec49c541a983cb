/** Renders the difference of two texts as a unified diff of limited length. */

import { createTwoFilesPatch } from 'diff'

const maxDiffChars = 4_000
/** The difference of two long, unlike texts takes long and is of no use. */
const diffTimeoutMs = 1_000

/** Empty when both texts are equal. */
export function diffTexts(before: string, after: string): string {
  if (before === after) return ''
  const options = { context: 3, timeout: diffTimeoutMs }
  const patch = createTwoFilesPatch('before', 'after', before, after, undefined, undefined, options)
  const text = patch?.replace(/^=+\n/, '') ?? `Too much has changed to compare. It begins now:\n${after}`
  const mark = '\n… (shortened)'
  return text.length <= maxDiffChars ? text : `${text.slice(0, maxDiffChars - mark.length)}${mark}`
}
