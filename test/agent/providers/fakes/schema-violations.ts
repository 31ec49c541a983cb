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

export const isWellFormed = (value: unknown): boolean => !/\\ud[89a-f]/i.test(JSON.stringify(value))
