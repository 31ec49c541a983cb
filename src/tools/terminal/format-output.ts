/** Prepares the output of a command for a model: removes colours, masks secrets, truncates. */

import type { OmittedOutput } from '#agent/core/backend.ts'
import { maskSecrets } from '#agent/core/secrets/mask-secrets.ts'

const maxBytes = 50_000
const maxLines = 2_000
const maxLineChars = 2_000
/** The share of a truncated output that comes from its beginning. Errors and results are usually at the end. */
const headShare = 0.4

// oxlint-disable-next-line no-control-regex -- this pattern removes control sequences
const controlSequences = /\u001B(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001B]*(?:\u0007|\u001B\\)|[@-Z\\-_])/g

/** `redact`: knows the exact values of secrets. A format may end before a value does, so values are masked first. */
export const cleanOutput = (text: string, redact = maskSecrets): string =>
  redact(text.replace(controlSequences, '').trimEnd())

// oxlint-disable-next-line no-control-regex -- control characters and U+FFFD are rare in text
const binaryCharacters = /[\0-\u0008\u000E-\u001A\u001C-\u001F\uFFFD]/g

/**
 * Replaces binary output by a note. Hosts decode invalid bytes as U+FFFD. A text in an older encoding contains some of
 * these characters, so only a share above 20 % counts as binary.
 */
export function replaceBinary(text: string): string {
  const sample = text.slice(0, 8_192)
  const binaryCount = sample.match(binaryCharacters)?.length ?? 0
  if (binaryCount * 5 <= sample.length && !sample.includes('\0')) return text
  return `[binary output, about ${text.length} bytes, not shown: write it to a file, or inspect it with xxd, od or file]`
}

export type TruncatedOutput = { readonly text: string; readonly truncated: boolean }

/** Keeps the beginning and the end of a long text, with a line between them that states what was left out. */
export function truncateOutput(text: string): TruncatedOutput {
  const lines = text.split('\n')
  const narrowLines = lines.map((line) => (line.length > maxLineChars ? `${line.slice(0, maxLineChars)}[...]` : line))
  const hasLongLines = narrowLines.some((line, i) => line !== lines[i])
  const truncated = truncateBytes(truncateLines(narrowLines))
  return { text: truncated, truncated: hasLongLines || truncated !== text }
}

function truncateLines(lines: readonly string[]): string {
  if (lines.length <= maxLines) return lines.join('\n')
  const head = Math.floor(maxLines * headShare)
  const missing = lines.length - maxLines
  return [...lines.slice(0, head), `[... ${missing} lines left out ...]`, ...lines.slice(head - maxLines)].join('\n')
}

const truncateBytes = (text: string): string => truncateMiddle(text, maxBytes).text

type TruncatedMiddle = { readonly text: string; readonly omitted?: OmittedOutput }

/** Leaves out the middle of a text that has more bytes than `max`. */
export function truncateMiddle(text: string, max: number): TruncatedMiddle {
  if (text.length * 3 <= max) return { text }
  const bytes = new TextEncoder().encode(text)
  if (bytes.byteLength <= max) return { text }
  const head = Math.floor(max * headShare)
  const from = bytes.byteLength - (max - head)
  const lines = decodePart(bytes.subarray(head, from)).split('\n').length - 1
  const missing = `\n[... ${from - head} bytes left out ...]\n`
  const shown = decodePart(bytes.subarray(0, head)) + missing + decodePart(bytes.subarray(from))
  return { text: shown, omitted: { bytes: from - head, lines } }
}

/** A character that was split at the edge is left out. */
const decodePart = (bytes: Uint8Array): string =>
  new TextDecoder('utf-8', { ignoreBOM: true, fatal: false }).decode(bytes).replace(/^\uFFFD+|\uFFFD+$/g, '')
