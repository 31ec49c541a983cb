/** Replaces lone surrogates, which several providers refuse, in texts and JSON. */

export const toWellFormed = (text: string): string => text.toWellFormed()

/** `JSON.stringify` writes a lone surrogate as an escape, and the provider decodes it back into one. */
export function stringifyWellFormed(value: unknown): string {
  const json = JSON.stringify(value)
  if (!/\\ud[89a-f]/.test(json)) return json
  return JSON.stringify(value, (_key, inner: unknown) => (typeof inner === 'string' ? toWellFormed(inner) : inner))
}
