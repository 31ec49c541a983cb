/** Compares texts by their words: the F1 measure of those that they share. */

/** The text of HTML or Markdown, without addresses. */
export function textOf(source: string): string {
  return source
    .replace(/^```json\n[\s\S]*?\n```\n/, '')
    .replace(/<(script|style)[\s\S]*?<\/\1>/gi, ' ')
    .replace(/<[^>]*>/g, ' ')
    .replace(/!?\[([^\]]*)\]\([^)]*\)/g, ' $1 ')
    .replace(/&(?:nbsp|#160);/g, ' ')
    .replace(/&amp;/g, '&')
    .replace(/&(?:#39|apos|rsquo);/g, "'")
    .replace(/&quot;/g, '"')
}

const words = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]|[\p{L}\p{M}\p{N}]+/gu

/** Each sign counts as a word in scripts that are written without spaces. */
function countWords(text: string): Map<string, number> {
  const counts = new Map<string, number>()
  for (const [word] of text.toLowerCase().matchAll(words)) counts.set(word, (counts.get(word) ?? 0) + 1)
  return counts
}

export const sum = (values: Iterable<number>) => [...values].reduce((all, one) => all + one, 0)

export function wordF1(found: string, expected: string): number {
  const [ours, theirs] = [countWords(found), countWords(expected)]
  const common = sum([...ours].map(([word, times]) => Math.min(times, theirs.get(word) ?? 0)))
  const total = sum(ours.values()) + sum(theirs.values())
  return total === 0 ? 1 : (2 * common) / total
}
