/**
 * Finds the lines that match a regular expression of the model. RE2 matches in linear time; the matcher yields the thread
 * after a bounded amount of work, because locally all isolates share a thread, and ends at its time limit.
 */

import { RE2JS } from 're2js'
import type { MatchAnswer, MatchLines } from '../protocol.ts'

/** Only the beginning of a long line is searched. */
const maxLineChars = 2_000
/** Instructions of a compiled pattern. A repetition such as `(x{100}){10}` multiplies them. */
const maxProgramSize = 5_000
/** Characters times instructions between two pauses: at most about 0.1 s. */
const workPerSlice = 10_000_000
/** Most patterns need no more than one step for a character. */
const charsPerSlice = 250_000

/** The clock and the timer of the platform. */
type Platform = { readonly now: () => number; readonly yieldThread: () => Promise<void> }

export const createMatchLines = ({ now, yieldThread }: Platform): MatchLines => {
  return async (pattern, texts, timeoutMs) => {
    const compiled = compile(pattern)
    if ('invalid' in compiled) return compiled
    const charsBetweenPauses = Math.min(charsPerSlice, workPerSlice / compiled.size)
    const deadline = now() + timeoutMs
    const found: number[][] = []
    let chars = 0
    for (const text of texts) {
      const lines: number[] = []
      found.push(lines)
      for (const [number, line] of splitLines(text).entries()) {
        if (compiled.matches(line)) lines.push(number)
        chars += line.length + 1
        if (chars < charsBetweenPauses) continue
        chars = 0
        await yieldThread()
        if (now() > deadline) return { stopped: true }
      }
    }
    return { lines: found }
  }
}

function splitLines(text: string): string[] {
  const lines = text.split('\n')
  if (lines.at(-1) === '') lines.pop()
  return lines.map((line) => line.slice(0, maxLineChars).replace(/\r$/, ''))
}

type CompiledPattern = { readonly size: number; readonly matches: (line: string) => boolean }

let last: { readonly pattern: string; readonly compiled: CompiledPattern } | undefined

function compile(pattern: string): CompiledPattern | Extract<MatchAnswer, { invalid: string }> {
  if (last?.pattern === pattern) return last.compiled
  try {
    const expression = RE2JS.compile(RE2JS.translateRegExp(pattern))
    const size = expression.programSize()
    if (size > maxProgramSize) return { invalid: 'The pattern is too large: use smaller counts of repetition.' }
    const compiled = { size, matches: (line: string) => expression.test(line) }
    last = { pattern, compiled }
    return compiled
  } catch (error) {
    return { invalid: error instanceof Error ? error.message : String(error) }
  }
}
