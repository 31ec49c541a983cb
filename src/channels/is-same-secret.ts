import { sha256 } from '#durable/platform/hash.ts'

/**
 * Compares a secret or signature from a request with the expected one. The time it takes reveals nothing: digests of
 * equal length are compared in full. A missing value on either side is never equal.
 */
export async function isSameSecret(
  candidate: string | null | undefined,
  expected: string | undefined,
): Promise<boolean> {
  if (!candidate || !expected) return false
  const [one, other] = await Promise.all([sha256(candidate), sha256(expected)])
  return one.reduce((difference, byte, n) => difference | (byte ^ (other[n] ?? 0)), 0) === 0
}
