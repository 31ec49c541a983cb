/**
 * Encodes the summary of a conversation as an item of the Responses API. Its `encrypted_content` is opaque to clients, but
 * not secret: it has nothing that the client did not send.
 */

import { type UserMessage, userText } from '#agent/core/message.ts'

const prefix = 'talaria-summary-1.'

export const encodeCompaction = (summary: string): string => {
  const bytes = new TextEncoder().encode(summary)
  let binary = ''
  for (let at = 0; at < bytes.length; at += chunkBytes)
    binary += String.fromCharCode(...bytes.subarray(at, at + chunkBytes))
  return prefix + btoa(binary)
}
/** More arguments at once overflow the stack. */
const chunkBytes = 8_192

/** Undefined for content that this API did not make. */
export function decodeCompaction(content: string): UserMessage | undefined {
  if (!content.startsWith(prefix)) return undefined
  try {
    const bytes = Uint8Array.from(atob(content.slice(prefix.length)), (char) => char.charCodeAt(0))
    return userText(new TextDecoder().decode(bytes), 'summary')
  } catch {
    // The text is not base64.
    return undefined
  }
}
