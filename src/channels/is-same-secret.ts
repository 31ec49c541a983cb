/**
 * Compares a secret or signature from a request with the expected one. Every character is compared, so the time it takes
 * reveals nothing but the length of what was expected. A missing value on either side is never equal.
 */
export function isSameSecret(candidate: string | null | undefined, expected: string | undefined): boolean {
  if (!candidate || !expected) return false
  let difference = candidate.length ^ expected.length
  for (let n = 0; n < expected.length; n++)
    difference |= expected.charCodeAt(n) ^ candidate.charCodeAt(n % candidate.length)
  return difference === 0
}
