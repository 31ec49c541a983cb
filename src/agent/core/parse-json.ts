/** Parses JSON from outside. Undefined for text that is no JSON. */
export function parseJson(text: Uint8Array | string): unknown {
  try {
    return JSON.parse(typeof text === 'string' ? text : new TextDecoder().decode(text))
  } catch {
    return undefined
  }
}

export type JsonObject = Readonly<Record<string, unknown>>

export const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
