/** Names the session of a chat: one for each chat and thread of a connection, or for each person of a group. */

import { BoundedMap } from '#agent/core/bounded-map.ts'
import type { ChatOrigin } from '#agent/core/delivery.ts'
import { sha256Hex } from '#durable/platform/hash.ts'

/** By what is hashed: each message of a chat asks for it. */
const known = new BoundedMap<string, string>(2_000)

export async function chatSessionId(
  connection: string,
  { chat, chatKey = chat, thread, person }: Pick<ChatOrigin, 'chat' | 'chatKey' | 'thread' | 'person'>,
): Promise<string> {
  const name = JSON.stringify([connection, chatKey, thread ?? null, ...(person === undefined ? [] : [person])])
  const cached = known.get(name)
  if (cached !== undefined) return cached
  const id = `ses_${await shortHash(name)}`
  known.set(name, id)
  return id
}

const shortHash = (text: string): Promise<string> => sha256Hex(text, 16)

/** 32 hexadecimal digits. */
export const hashParts = (parts: readonly (string | null)[]): Promise<string> => shortHash(JSON.stringify(parts))
