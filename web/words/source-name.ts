/** Names where a session, a cost or a notice comes from. */

import { en } from './en.ts'
import { t, type Word } from './words.ts'

/** Platforms have their own names, which are the same in every language. */
export function sourceName(source: string): string {
  const word = `source_${source}`
  if (Object.hasOwn(en, word)) return t(word as Word)
  return source
    .split('_')
    .map((one) => (one.length < 4 ? one.toUpperCase() : one.charAt(0).toUpperCase() + one.slice(1)))
    .join(' ')
    .replace('Whatsapp', 'WhatsApp')
}
