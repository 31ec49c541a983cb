/** Counts and describes the part of an output that is left out. */

import type { OmittedOutput } from '#agent/core/backend.ts'

export const describeOmitted = ({ bytes, lines }: OmittedOutput): string =>
  `[... ${bytes} bytes, ${lines} lines left out ...]`

export function countLineEnds(bytes: Uint8Array): number {
  let count = 0
  for (let at = bytes.indexOf(10); at >= 0; at = bytes.indexOf(10, at + 1)) count++
  return count
}

export const addOmitted = (
  one: OmittedOutput | undefined,
  other: OmittedOutput | undefined,
): OmittedOutput | undefined =>
  one && other ? { bytes: one.bytes + other.bytes, lines: one.lines + other.lines } : (one ?? other)
