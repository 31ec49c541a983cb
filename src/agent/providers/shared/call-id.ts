/** Encodes tool call ids and tool names for strict providers. Ids of one dialect may be invalid in another. */

import { hash53 } from '#agent/core/hash53.ts'

/** OpenAI accepts ids of 40 characters, other providers more. All accept names of 64 characters. */
const maxIdChars = 40
const maxNameChars = 64

/**
 * Maps equal ids to equal ids, so that a call and its result still match. A changed id ends with a hash of the
 * original, so that different ids stay different.
 */
export function encodeCallId(id: string): string {
  if (/^[\w-]+$/.test(id) && id.length <= maxIdChars) return id
  const hash = hash53(id).toString(36)
  return `${id.replace(/[^\w-]/g, '_').slice(0, maxIdChars - hash.length - 1)}_${hash}`
}

/** Models invent tool names that no provider accepts in a request. */
export const encodeToolName = (name: string): string =>
  name.replace(/[^\w-]/g, '_').slice(0, maxNameChars) || 'invalid_tool_call'
