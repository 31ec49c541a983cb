/** Decodes the output of commands and truncates it in the middle. */

import type { OmittedOutput } from '#agent/core/backend.ts'
import { countLineEnds, describeOmitted } from '../../omitted-output.ts'

const encoder = new TextEncoder()
const decoder = new TextDecoder()

const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Decodes the output of a statement, which is either text or bytes with one character each. */
export function decodeOutput(output: string): string {
  // oxlint-disable-next-line no-control-regex -- everything that is a byte
  if (!/[\x80-\xFF]/.test(output) || /[^\0-\xFF]/.test(output)) return output
  try {
    return strict.decode(Buffer.from(output, 'latin1'))
  } catch {
    return output
  }
}

// oxlint-disable-next-line no-control-regex -- these are what text does not contain
const controlCharacters = /[\0-\x08\x0E-\x1A\x1C-\x1F]/g

/** Replaces binary output with a note. */
export function describeBinary(output: string): string {
  const sample = output.slice(0, 8192)
  const odd = sample.match(controlCharacters)?.length ?? 0
  if (!sample.includes('\0') && odd * 20 <= sample.length) return output
  return `[binary output, ${output.length} bytes, not shown: write it to a file, or look at it with xxd, od or file]\n`
}

export type ClippedText = { readonly text: string; readonly omitted?: OmittedOutput }

export function clip(text: string, maxBytes: number): ClippedText {
  // A character is at least a byte and at most three per UTF-16 unit.
  if (text.length * 3 <= maxBytes) return { text }
  const bytes = encoder.encode(text)
  if (bytes.byteLength <= maxBytes) return { text }
  const head = nextCharacter(bytes, Math.floor(maxBytes * 0.4))
  const tail = nextCharacter(bytes, bytes.byteLength - (maxBytes - head))
  const start = decoder.decode(bytes.subarray(0, head))
  const end = decoder.decode(bytes.subarray(tail))
  const omitted = { bytes: tail - head, lines: countLineEnds(bytes.subarray(head, tail)) }
  return { text: `${start}\n${describeOmitted(omitted)}\n${end}`, omitted }
}

/** Returns the first index at or after `at` where a character begins. */
function nextCharacter(bytes: Uint8Array, at: number): number {
  let end = at
  while (end < bytes.byteLength && ((bytes[end] ?? 0) & 0xc0) === 0x80) end++
  return end
}
