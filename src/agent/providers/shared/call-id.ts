/** Ids and names of calls as strict providers take them. What one dialect calls a call, another may not be able to write. */

import { hash53 } from '../../model/hash.ts'

/** OpenAI takes ids of 40 characters, others more; names may have 64 everywhere. */
const longestId = 40
const longestName = 64

/**
 * Letters, digits, `_` and `-`, and not too many. A call and its result are given the same, and two that differ stay
 * apart: what had to be changed carries a hash of what it was.
 */
export function wireId(id: string): string {
  if (/^[\w-]+$/.test(id) && id.length <= longestId) return id
  const hash = hash53(id).toString(36)
  return `${id.replace(/[^\w-]/g, '_').slice(0, longestId - hash.length - 1)}_${hash}`
}

/** Models have invented names that no provider takes back. */
export const wireName = (name: string): string =>
  name.replace(/[^\w-]/g, '_').slice(0, longestName) || 'invalid_tool_call'
