/** Reads the arguments of a tool call. What is cut off is never completed; what is only untidy is mended. */

import { jsonrepair } from 'jsonrepair'

export type Arguments = { readonly input: unknown } | { readonly input: unknown; readonly raw: string }

export function readArguments(text: string): Arguments {
  const trimmed = text.trim()
  if (trimmed === '' || trimmed === 'null' || trimmed === 'None') return { input: {} }
  const parsed = parse(trimmed) ?? (/[}\]]$/.test(trimmed) ? parse(mended(trimmed)) : undefined)
  return parsed === undefined ? { input: {}, raw: text } : { input: parsed }
}

/** Only an object is a set of arguments. */
function parse(text: string | undefined): object | undefined {
  if (text === undefined) return undefined
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined
  } catch {
    return undefined
  }
}

function mended(text: string): string | undefined {
  try {
    return jsonrepair(text)
  } catch {
    return undefined
  }
}
