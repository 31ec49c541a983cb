/** Parses a regular expression from the model, and rejects one that could run forever. */

import { BackendError } from '#agent/core/backend.ts'
import { hasCatastrophicBacktracking } from '../isolate/compile/catastrophic-backtracking.ts'

const maxPatternChars = 2_000

export function parseSearchPattern(pattern: string): RegExp {
  if (pattern.length > maxPatternChars)
    throw new BackendError('invalid', 'The pattern is too long.', `Use at most ${maxPatternChars} characters.`)
  const insensitive = pattern.startsWith('(?i)')
  const source = insensitive ? pattern.slice(4) : pattern
  if (hasCatastrophicBacktracking(source, insensitive)) throw tooSlow(pattern)
  try {
    return new RegExp(source, insensitive ? 'i' : '')
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    const hint = 'Put a backslash before ( ) [ ] { } . * + ? to search for the character itself.'
    throw new BackendError('invalid', reason, hint)
  }
}

const tooSlow = (pattern: string): BackendError =>
  new BackendError(
    'invalid',
    `A repetition that can match one text in several ways can take forever: ${pattern}`,
    'Write it without the outer repetition; lines are searched one by one.',
  )

/** A class has at least one member, so a bracket at its beginning does not close it. */
function withoutClasses(pattern: string): string {
  let rest = ''
  for (let i = 0; i < pattern.length; i++) {
    const first = pattern[i + 1] === '^' ? i + 2 : i + 1
    const end = pattern[i] === '[' ? pattern.indexOf(']', first + 1) : -1
    rest += end < 0 ? (pattern[i] ?? '') : '\0'
    if (end >= 0) i = end
  }
  return rest
}

function withoutGroups(pattern: string): string {
  const [open, close] = [pattern.indexOf('('), pattern.lastIndexOf(')')]
  return open < 0 || close < open ? pattern : `${pattern.slice(0, open)}\0${pattern.slice(close + 1)}`
}

/**
 * Returns the longest text that every match must contain, or '' when there is none. Files without it are skipped.
 */
export function requiredText(pattern: string): string {
  // With an escape of several characters, alternatives or flags no text is certain.
  if (/\(\?[a-zA-Z]|\||\\[xucpPkQ\d]/.test(pattern)) return ''
  if (pattern.length > maxPatternChars) return ''
  const certain = withoutGroups(withoutClasses(pattern.replace(/\\./g, '\0'))).replace(/.\{[^{}]*\}|[^\0][?*]/g, '\0')
  return certain
    .split(/[^\w \-"'/=:;,<>@#%&!~`]+/)
    .reduce((best, part) => (part.length > best.length ? part : best), '')
}
