/** Compares, names and finds JSON values. */

import { isJsonObject, type JsonObject } from '#agent/core/parse-json.ts'

export function describeType(value: unknown): string {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'array' : typeof value
}

/** Encodes equal values as the same JSON, independent of the order of keys. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  if (!isJsonObject(value)) return JSON.stringify(value) ?? 'null'
  const entries = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1))
  return `{${entries.map(([key, part]) => `${JSON.stringify(key)}:${canonicalJson(part)}`).join(',')}}`
}

/** Names a JSON pointer in a message. */
export const place = (at: string): string => (at ? `The value at ${at}` : 'The answer')

/** Returns the part of a document that a local reference names; undefined for others. */
export function resolvePointer(document: JsonObject, reference: string): unknown {
  if (reference === '#') return document
  if (!reference.startsWith('#/')) return undefined
  let part: unknown = document
  for (const token of reference.slice(2).split('/')) {
    const key = decodeToken(token)
    if (typeof part !== 'object' || part === null || !Object.hasOwn(part, key)) return undefined
    part = (part as JsonObject)[key]
  }
  return part
}

function decodeToken(token: string): string {
  const plain = token.replaceAll('~1', '/').replaceAll('~0', '~')
  try {
    return decodeURIComponent(plain)
  } catch {
    return plain
  }
}
