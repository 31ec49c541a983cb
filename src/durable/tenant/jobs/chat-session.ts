/** Names the session of a chat: one for each chat and thread of a connection, or for each person of a group. */

import type { ChatOrigin } from '#agent/core/delivery.ts'

export const chatSessionId = async (
  connection: string,
  { chat, chatKey = chat, thread, person }: Pick<ChatOrigin, 'chat' | 'chatKey' | 'thread' | 'person'>,
): Promise<string> =>
  `ses_${await hashParts([connection, chatKey, thread ?? null, ...(person === undefined ? [] : [person])])}`

/** 32 hexadecimal digits. */
export async function hashParts(parts: readonly (string | null)[]): Promise<string> {
  const text = new TextEncoder().encode(JSON.stringify(parts))
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', text))
  return [...digest.subarray(0, 16)].map((byte) => byte.toString(16).padStart(2, '0')).join('')
}
