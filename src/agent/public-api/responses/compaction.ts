/**
 * Encodes the summary of a conversation as an item of the Responses API. Its `encrypted_content` is opaque to clients, but
 * not secret: it has nothing that the client did not send.
 */

import { type UserMessage, userText } from '#agent/core/message.ts'
import { encodeBase64Bytes } from '#agent/core/base64.ts'

const prefix = 'talaria-summary-1.'

export const encodeCompaction = (summary: string): string =>
  prefix + encodeBase64Bytes(new TextEncoder().encode(summary))

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
