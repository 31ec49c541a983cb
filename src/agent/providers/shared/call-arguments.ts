/** Parses the arguments of a tool call. It repairs careless JSON, and never completes truncated JSON. */

import { isTooDeeplyNested } from './nesting.ts'
import { parseLenientJson } from './lenient-json.ts'

/** `raw`: the original text, when it is not a valid arguments object. */
export type CallArguments = { readonly input: unknown } | { readonly input: unknown; readonly raw: string }

export function parseCallArguments(text: string): CallArguments {
  const trimmed = text.trim()
  if (trimmed === '' || trimmed === 'null' || trimmed === 'None') return { input: {} }
  const input = parseJson(trimmed) ?? (/[}\]]$/.test(trimmed) ? parseLenientJson(trimmed) : undefined)
  return isJsonObject(input) && !isTooDeeplyNested(input) ? { input } : { input: {}, raw: text }
}

const isJsonObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}
