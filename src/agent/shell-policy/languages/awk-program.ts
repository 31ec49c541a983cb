/** Recognises awk programs that neither write files nor start programs. Strings and patterns are removed first. */

import { findBracketEnd } from './bracket-end.ts'
import { isKnown, type Field } from '#agent/path-policy/field.ts'

export function isHarmlessAwkProgram(program: Field): boolean {
  if (!isKnown(program)) return false
  const code = removeLiterals(program)
  if (
    code === undefined ||
    /\bsystem\b|\bgetline\b|@|\bclose\b|\bfflush\b|\bENVIRON\b|\bARGV\b|\bSYMTAB\b|\bPROCINFO\b/.test(code)
  )
    return false
  if (code.replaceAll('||', '').includes('|')) return false
  // `>` is a comparison, except after print. A statement continues after a line that ends with one of these characters.
  return !code
    .replace(/([,&|?:(])\s*\n/g, '$1 ')
    .split(/[;{}\n]/)
    .some((part) => /\bprintf?\b/.test(part) && part.slice(part.search(/\bprintf?\b/)).includes('>'))
}

/** Only after these words a slash begins a pattern. */
const wordsBeforePattern = new Set('print printf return exit in else do case delete not BEGIN END'.split(' '))

/** The meaning of a slash; undefined where implementations of awk disagree. */
type Slash = 'divides' | 'pattern' | undefined

/** Removes strings and patterns; undefined when one does not end, or when implementations disagree about its end. */
function removeLiterals(program: string): string | undefined {
  let code = ''
  let slash: Slash = 'pattern'
  let last = ''
  const parens: string[] = []
  for (let at = 0; at < program.length;) {
    const token = readToken(program, at, slash)
    if (token === undefined) return undefined
    at += token.length
    if (/^["#]/.test(token) || (token[0] === '/' && slash === 'pattern')) {
      if (token[0] === '#') continue
      code += ' 0 '
      slash = 'divides'
      last = ''
      continue
    }
    code += token.startsWith('\\') ? ' ' : token
    if (token === '(') parens.push(last)
    const wordBeforeParen = token === ')' ? parens.pop() : undefined
    if (/^[ \t\\]/.test(token)) continue
    slash = slashAfter(token, wordBeforeParen)
    last = token
  }
  return code
}

const tokenPattern = /(?:[\w.]+|\+\+|--|[ \t]+|#[^\n]*|\\\n|[^\\])/y

function readToken(program: string, at: number, slash: Slash): string | undefined {
  const char = program[at]
  if (char === '/' && slash === undefined) return undefined
  if (char === '"') return sliceTo(program, at, findStringEnd(program, at + 1))
  if (char === '/' && slash === 'pattern') return sliceTo(program, at, findPatternEnd(program, at + 1))
  tokenPattern.lastIndex = at
  return tokenPattern.exec(program)?.[0]
}

const sliceTo = (text: string, from: number, end: number | undefined): string | undefined =>
  end === undefined ? undefined : text.slice(from, end)

function slashAfter(token: string, wordBeforeParen: string | undefined): Slash {
  if (token === '++' || token === '--' || token === 'length') return undefined
  if (token === ')') return /^(if|while|for|switch)$/.test(wordBeforeParen ?? '') ? 'pattern' : 'divides'
  return token === ']' || (/^[\w.]/.test(token) && !wordsBeforePattern.has(token)) ? 'divides' : 'pattern'
}

function findStringEnd(text: string, from: number): number | undefined {
  for (let at = from; at < text.length; at++) {
    if (text[at] === '\\') at++
    else if (text[at] === '\n') return undefined
    else if (text[at] === '"') return at + 1
  }
  return undefined
}

function findPatternEnd(text: string, from: number): number | undefined {
  for (let at = from; at < text.length; at++) {
    const char = text[at]
    if (char === '/') return at + 1
    if (char === '\n' || (char === '\\' && text[at + 1] === '\n')) return undefined
    if (char === '\\') at++
    else if (char === '[') {
      const end = findBracketEnd(text, at)
      // In some implementations a slash in brackets ends the pattern.
      if (end === undefined || text.slice(at, end).replace(/\\./g, '').includes('/')) return undefined
      at = end - 1
    }
  }
  return undefined
}
