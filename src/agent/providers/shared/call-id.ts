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

/** The end of an encoded name. A name that has it is encoded too, so that no two names become one. */
const encodedEnd = /_h_[0-9a-z]+$/

/**
 * Encodes names that providers refuse: with dots, longer than 64 characters, or as models invent them. A reply is decoded
 * by the tools that its request offered.
 */
export function encodeToolName(name: string): string {
  if (/^[\w-]+$/.test(name) && name.length <= maxNameChars && !encodedEnd.test(name)) return name
  if (name === '') return 'invalid_tool_call'
  const end = `_h_${hash53(name).toString(36)}`
  return name.replace(/[^\w-]/g, '_').slice(0, maxNameChars - end.length) + end
}
