/** Matches the regular expressions of schemas with RE2, in linear time. */

import { RE2JS } from 're2js'
import type { Validation } from './protocol.ts'

const maxPatternChars = 2_000
/** Instructions of a compiled pattern. */
const maxProgramSize = 5_000
/** Characters times instructions that count as one visit of a schema. */
const workPerVisit = 2_000

/** A pattern that RE2 does not have, for example with a lookahead, matches everything. */
export function createPatterns(charge: Validation['charge']): Validation['patterns'] {
  const compiled = new Map<string, RE2JS | undefined>()
  return (pattern, text) => {
    if (!compiled.has(pattern)) compiled.set(pattern, compile(pattern, charge))
    const expression = compiled.get(pattern)
    if (!expression) return true
    charge((text.length * expression.programSize()) / workPerVisit)
    return expression.matcher(text).find()
  }
}

function compile(pattern: string, charge: Validation['charge']): RE2JS | undefined {
  charge(pattern.length)
  if (pattern.length > maxPatternChars) return undefined
  try {
    const expression = RE2JS.compile(RE2JS.translateRegExp(pattern))
    return expression.programSize() > maxProgramSize ? undefined : expression
  } catch {
    return undefined
  }
}
