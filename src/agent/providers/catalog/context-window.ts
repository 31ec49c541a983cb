/**
 * Probes the context window of a model that no catalog lists. The first guess is large. When the provider
 * rejects a prompt that should have fitted, the next guess is the size in its message, else the next smaller tier.
 */

const windowTiers = [256_000, 128_000, 64_000, 32_000, 16_000, 8_000] as const
export const defaultWindow = windowTiers[0]

/** The smallest window that holds the tools, the prompt and a history worth compressing. */
export const minWindow = 64_000

/** Returns the next guess after `window` was too large; undefined below the smallest tier. */
export function nextWindow(window: number, message: string): number | undefined {
  const stated = parseWindow(message)
  if (stated !== undefined && stated < window) return stated
  return windowTiers.find((tier) => tier < window)
}

const windowPatterns = [
  /max(?:imum)?[\s_-]{0,4}(?:context|model|prompt|input)?[ _-]{0,4}(?:length|len|window|size|tokens)?\D{0,24}?(\d[\d,]{3,9})/i,
  /(?:context (?:length|window|size)|limit|n_ctx(?:_slot)?)\D{0,16}(\d[\d,]{3,9})/i,
  /> ?(\d[\d,]{3,9}) maximum/i,
]

/** Parses the window size from an error message. */
export function parseWindow(message: string): number | undefined {
  for (const pattern of windowPatterns) {
    const [, digits] = pattern.exec(message.slice(0, 2_000)) ?? []
    const tokens = Number(digits?.replaceAll(',', ''))
    if (tokens >= 2_000 && tokens <= 20_000_000) return tokens
  }
  return undefined
}
