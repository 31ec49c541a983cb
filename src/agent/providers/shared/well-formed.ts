/** Replaces lone surrogates, which several providers refuse, in texts and JSON. */

export const toWellFormed = (text: string): string => text.toWellFormed()

/** The escape of a lone surrogate, after any number of escaped backslashes. */
const loneSurrogate = /(?<!\\)((?:\\\\)*)\\ud[89a-f][\da-f]{2}/g

/** `JSON.stringify` escapes only lone surrogates like this, in keys as in texts, and a provider decodes them again. */
export function stringifyWellFormed(value: unknown): string {
  const json = JSON.stringify(value)
  return json.includes('\\ud') ? json.replace(loneSurrogate, '$1\ufffd') : json
}
