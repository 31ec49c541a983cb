/** Names the beginning of a conversation, for providers that send requests of one name where it is kept. */

import { hash53 } from '../../model/hash.ts'
import { type Message, textIn } from '../../model/message.ts'

/** More would not tell more conversations apart. */
const enough = 4_000

/**
 * The same for all requests of a conversation, until its beginning is replaced by a summary; then what is kept
 * is worth nothing anyway.
 */
export function cacheKey(system: string, first: Message | undefined): string {
  const said = first ? textIn(first).slice(0, enough) : ''
  return `talaria-${hash53(`${system.slice(0, enough)}\n${said}`).toString(36)}`
}
