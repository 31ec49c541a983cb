/**
 * Appends recalled memories to a message of the user, for the model alone. They are stored beside the text of the
 * message, so that later requests repeat the same bytes, and nobody who reads the message sees them.
 */

import type { UserMessage } from '#agent/core/message.ts'
import { fenceUntrusted } from '#agent/untrusted/fence.ts'
import { renderEntry } from './memory-scan.ts'

const maxEntryChars = 500
const maxRecalledChars = 4_000

/** Undefined when nothing was found. */
export function renderRecalled(memories: readonly string[], source: string, nonce: string): string | undefined {
  let chars = 0
  const kept = memories
    .map((memory) => renderEntry(memory.trim().slice(0, maxEntryChars)))
    .filter((memory) => memory !== '' && (chars += memory.length) <= maxRecalledChars)
  if (!kept.length) return undefined
  return fenceUntrusted(kept.map((memory) => `- ${memory}`).join('\n'), { source: `memory of ${source}`, nonce })
}

export const withRecalled = (message: UserMessage, recalled: string | undefined): UserMessage =>
  recalled === undefined ? message : { ...message, recalled }
