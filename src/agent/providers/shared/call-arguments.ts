/** Reads the arguments of a tool call. What is cut off is never completed; what is only untidy is mended. */

import { isNestedDeeply } from './nesting.ts'
import { readUntidy } from './lenient-json.ts'

export type Arguments = { readonly input: unknown } | { readonly input: unknown; readonly raw: string }

export function readArguments(text: string): Arguments {
  const trimmed = text.trim()
  if (trimmed === '' || trimmed === 'null' || trimmed === 'None') return { input: {} }
  const input = parsed(trimmed) ?? (/[}\]]$/.test(trimmed) ? readUntidy(trimmed) : undefined)
  return isSet(input) && !isNestedDeeply(input) ? { input } : { input: {}, raw: text }
}

/** Only an object is a set of arguments. */
const isSet = (value: unknown): value is object => typeof value === 'object' && value !== null && !Array.isArray(value)

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}
