/** Names the session of a chat: one for each chat and thread of a connection, or for each person of a group. */

import type { ChatOrigin } from '#agent/core/delivery.ts'
import { sha256Hex } from '#durable/platform/hash.ts'

export const chatSessionId = async (
  connection: string,
  { chat, chatKey = chat, thread, person }: Pick<ChatOrigin, 'chat' | 'chatKey' | 'thread' | 'person'>,
): Promise<string> =>
  `ses_${await hashParts([connection, chatKey, thread ?? null, ...(person === undefined ? [] : [person])])}`

/** 32 hexadecimal digits. */
export const hashParts = (parts: readonly (string | null)[]): Promise<string> => sha256Hex(JSON.stringify(parts), 16)
