/** Derives the key that routes requests with the same beginning to the same provider cache. */

import { hash53 } from '#agent/core/hash53.ts'
import { type Message, textIn } from '#agent/core/message.ts'

/** Conversations differ within their first characters. */
const maxHashedChars = 4_000

/**
 * The key stays the same for a conversation until compression replaces its first message. The provider's cache is
 * useless from then on.
 */
export function derivePromptCacheKey(system: string, first: Message | undefined): string {
  const opening = first ? textIn(first).slice(0, maxHashedChars) : ''
  return `talaria-${hash53(`${system.slice(0, maxHashedChars)}\n${opening}`).toString(36)}`
}
