/**
 * Windows of models that nobody describes. It begins large; when the provider says that a prompt is too long
 * which should have fitted, the window is what the provider names, else the next tier below.
 */

const windowTiers = [256_000, 128_000, 64_000, 32_000, 16_000, 8_000] as const
export const defaultWindow = windowTiers[0]

/** A session needs room for its tools, its prompt and a history that is worth compressing. */
export const minWindow = 64_000

/** The next guess after `window` was too much; undefined when there is nothing below. */
export function nextWindow(window: number, words: string): number | undefined {
  const told = parseWindow(words)
  if (told !== undefined && told < window) return told
  return windowTiers.find((tier) => tier < window)
}

const windowPatterns = [
  /max(?:imum)?[\s_-]{0,4}(?:context|model|prompt|input)?[ _-]{0,4}(?:length|len|window|size|tokens)?\D{0,24}?(\d[\d,]{3,9})/i,
  /(?:context (?:length|window|size)|limit|n_ctx(?:_slot)?)\D{0,16}(\d[\d,]{3,9})/i,
  /> ?(\d[\d,]{3,9}) maximum/i,
]

/** The number that the provider gives for its window, if it gives one. */
export function parseWindow(words: string): number | undefined {
  for (const limit of windowPatterns) {
    const [, digits] = limit.exec(words.slice(0, 2_000)) ?? []
    const tokens = Number(digits?.replaceAll(',', ''))
    if (tokens >= 2_000 && tokens <= 20_000_000) return tokens
  }
  return undefined
}
