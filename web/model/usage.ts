/** Calculates the part of the input that providers had in their cache. */

type Tokens = { readonly input: number; readonly cached_read: number; readonly cached_write: number }

/** In percent. `input` counts only what was neither read from the cache nor written to it. */
export function cacheShareOf({ input, cached_read: read, cached_write: written }: Tokens): number {
  return Math.round((100 * read) / Math.max(1, input + read + written))
}
