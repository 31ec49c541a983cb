/** Describes where a value violates a zod schema. */

import type * as z from 'zod'

export function findSchemaViolations(schema: z.ZodType, value: unknown): string[] {
  const { error } = schema.safeParse(value)
  return (error?.issues ?? []).flatMap((issue) => describeIssue(issue, []))
}

/** A union issue lists the issues of every branch. */
function describeIssue(issue: z.core.$ZodIssue, above: readonly PropertyKey[]): string[] {
  const path = [...above, ...issue.path]
  if (issue.code === 'invalid_union' && issue.errors.length)
    return issue.errors.flatMap((branch) => branch.flatMap((inner) => describeIssue(inner, path)))
  return [`${path.map(String).join('.')}: ${issue.message}`]
}

/** Returns the number of bytes that base64 text decodes to. */
export const getDecodedBytes = (base64: string): number => Math.floor((base64.length * 3) / 4)

export const isBase64 = (text: string): boolean =>
  text.length > 0 && text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text)

/** Whether no text or key has a lone surrogate, nor JSON in a text, such as the arguments of a call. */
export function isWellFormed(value: unknown): boolean {
  if (typeof value === 'string') return value.isWellFormed() && isWellFormed(parseObject(value))
  if (typeof value !== 'object' || value === null) return true
  return Object.entries(value).every((entry) => entry.every(isWellFormed))
}

function parseObject(text: string): unknown {
  if (!/^\s*[[{]/.test(text)) return undefined
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
