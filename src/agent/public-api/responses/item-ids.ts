/**
 * Builds and parses the ids of items. An id names the session and the message, so that an item is found by its id alone
 * and is the same wherever it is rendered.
 */

import { hash53 } from '#agent/core/hash53.ts'

const kinds = ['msg', 'rs', 'mcp', 'mcpr', 'fc', 'fco', 'call'] as const
export type ItemKind = (typeof kinds)[number]

/** The message that an item is a part of. */
export type ItemPosition = { readonly sessionId: string; readonly seq: number }

/** `part`: the position of a text in its message, or `callPart` of a call. */
export const createItemId = (kind: ItemKind, { sessionId, seq }: ItemPosition, part: number | string): string =>
  `${kind}_${seq}_${part}_${sessionId}`

/** Identifies a call within its message by letters and digits alone. */
export const callPart = (callId: string): string => hash53(callId).toString(36)

export type ParsedItemId = ItemPosition & { readonly kind: ItemKind; readonly part: string }

const pattern = new RegExp(`^(${kinds.join('|')})_(\\d{1,15})_([0-9a-z]{1,12})_(.{1,128})$`)

/** Undefined for an id that this API did not make. */
export function parseItemId(id: string): ParsedItemId | undefined {
  const [, kind, seq, part, sessionId] = pattern.exec(id) ?? []
  if (kind === undefined || part === undefined || sessionId === undefined) return undefined
  return { kind: kind as ItemKind, seq: Number(seq), part, sessionId }
}
