/** Parses JSON from outside. Undefined for text that is no JSON. */
export function parseJson(text: Uint8Array | string): unknown {
  try {
    return JSON.parse(typeof text === 'string' ? text : new TextDecoder().decode(text))
  } catch {
    return undefined
  }
}
