/** What a program printed, as a model gets to see it: without colours and secrets, and not more than it can use. */

import { maskSecrets } from '../../agent/model/secrets.ts'

const MAX_BYTES = 50_000
const MAX_LINES = 2_000
const MAX_LINE = 2_000
/** Of what is kept, the part that comes from the beginning: errors and results stand at the end. */
const HEAD = 0.4

// oxlint-disable-next-line no-control-regex -- control sequences are what this removes
const ANSI = /\u001B(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001B]*(?:\u0007|\u001B\\)|[@-Z\\-_])/g

export const cleanOutput = (text: string): string => maskSecrets(text.replace(ANSI, '').trimEnd())

// oxlint-disable-next-line no-control-regex -- what text does not contain, and what machines put in the place of it
const ODD = /[\0-\u0008\u000E-\u001A\u001C-\u001F\uFFFD]/g

/**
 * Bytes that are no text are said instead of shown: they would only be noise. Machines hand them over as U+FFFD; texts
 * in older encodings have some of those, and are shown.
 */
export function replaceBinary(text: string): string {
  const sample = text.slice(0, 8_192)
  const odd = sample.match(ODD)?.length ?? 0
  if (odd * 5 <= sample.length && !sample.includes('\0')) return text
  return `[binary output, about ${text.length} bytes, not shown: write it to a file, or look at it with xxd, od or file]`
}

export type TruncatedOutput = { readonly text: string; readonly truncated: boolean }

/** Beginning and end of a long text, with a line in between that says what is missing. */
export function truncateOutput(text: string): TruncatedOutput {
  const lines = text.split('\n')
  const short = lines.map((line) => (line.length > MAX_LINE ? `${line.slice(0, MAX_LINE)}[...]` : line))
  const isWide = short.some((line, i) => line !== lines[i])
  const cut = bytesOf(linesOf(short))
  return { text: cut, truncated: isWide || cut !== text }
}

function linesOf(lines: readonly string[]): string {
  if (lines.length <= MAX_LINES) return lines.join('\n')
  const head = Math.floor(MAX_LINES * HEAD)
  const missing = lines.length - MAX_LINES
  return [...lines.slice(0, head), `[... ${missing} lines left out ...]`, ...lines.slice(head - MAX_LINES)].join('\n')
}

function bytesOf(text: string): string {
  if (text.length * 4 <= MAX_BYTES) return text
  const bytes = new TextEncoder().encode(text)
  if (bytes.byteLength <= MAX_BYTES) return text
  const head = Math.floor(MAX_BYTES * HEAD)
  const from = bytes.byteLength - (MAX_BYTES - head)
  const missing = `\n[... ${from - head} bytes left out ...]\n`
  return decoded(bytes.subarray(0, head)) + missing + decoded(bytes.subarray(from))
}

/** Half a character at a cut is left out. */
const decoded = (bytes: Uint8Array): string =>
  new TextDecoder('utf-8', { ignoreBOM: true, fatal: false }).decode(bytes).replace(/^\uFFFD+|\uFFFD+$/g, '')
