/** JSON as providers take it. */

import { wellFormed } from './well-formed.ts'

/** JSON writes half of a surrogate pair as an escape, which the provider reads back as what it was. */
export function wholeJson(value: unknown): string {
  const json = JSON.stringify(value)
  if (!/\\ud[89a-f]/.test(json)) return json
  return JSON.stringify(value, (_key, inner: unknown) => (typeof inner === 'string' ? wellFormed(inner) : inner))
}
