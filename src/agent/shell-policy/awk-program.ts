/** Programs of awk: harmless when they neither write nor start anything, read with their strings and patterns taken out. */

import { bracketEnd } from './brackets.ts'
import { isKnown, type Field } from './marks.ts'

export function isHarmlessAwk(program: Field): boolean {
  if (!isKnown(program)) return false
  const code = awkCode(program)
  if (
    code === undefined ||
    /\bsystem\b|\bgetline\b|@|\bclose\b|\bfflush\b|\bENVIRON\b|\bARGV\b|\bSYMTAB\b|\bPROCINFO\b/.test(code)
  )
    return false
  if (code.replaceAll('||', '').includes('|')) return false
  // `>` compares, except in what print is given; a statement goes on over the line that ends like this.
  return !code
    .replace(/([,&|?:(])\s*\n/g, '$1 ')
    .split(/[;{}\n]/)
    .some((part) => /\bprintf?\b/.test(part) && part.slice(part.search(/\bprintf?\b/)).includes('>'))
}

/** Where a slash begins a pattern: behind these words, and not behind any other. */
const BEFORE_PATTERN = new Set('print printf return exit in else do case delete not BEGIN END'.split(' '))

/** Whether a slash that stands here divides; undefined where that depends on the awk. */
type Slash = 'divides' | 'pattern' | undefined

/** awk code with its strings and patterns taken out; undefined when they do not end, or not for every awk at one place. */
function awkCode(program: string): string | undefined {
  let code = ''
  let slash: Slash = 'pattern'
  let last = ''
  const parens: string[] = []
  for (let at = 0; at < program.length;) {
    const token = tokenAt(program, at, slash)
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
    const opened = token === ')' ? parens.pop() : undefined
    if (/^[ \t\\]/.test(token)) continue
    slash = slashBehind(token, opened)
    last = token
  }
  return code
}

const TOKEN = /(?:[\w.]+|\+\+|--|[ \t]+|#[^\n]*|\\\n|[^\\])/y

function tokenAt(program: string, at: number, slash: Slash): string | undefined {
  const char = program[at]
  if (char === '/' && slash === undefined) return undefined
  if (char === '"') return upTo(program, at, stringEnd(program, at + 1))
  if (char === '/' && slash === 'pattern') return upTo(program, at, patternEnd(program, at + 1))
  TOKEN.lastIndex = at
  return TOKEN.exec(program)?.[0]
}

const upTo = (text: string, from: number, end: number | undefined): string | undefined =>
  end === undefined ? undefined : text.slice(from, end)

function slashBehind(token: string, opened: string | undefined): Slash {
  if (token === '++' || token === '--' || token === 'length') return undefined
  if (token === ')') return /^(if|while|for|switch)$/.test(opened ?? '') ? 'pattern' : 'divides'
  return token === ']' || (/^[\w.]/.test(token) && !BEFORE_PATTERN.has(token)) ? 'divides' : 'pattern'
}

function stringEnd(text: string, from: number): number | undefined {
  for (let at = from; at < text.length; at++) {
    if (text[at] === '\\') at++
    else if (text[at] === '\n') return undefined
    else if (text[at] === '"') return at + 1
  }
  return undefined
}

function patternEnd(text: string, from: number): number | undefined {
  for (let at = from; at < text.length; at++) {
    const char = text[at]
    if (char === '/') return at + 1
    if (char === '\n' || (char === '\\' && text[at + 1] === '\n')) return undefined
    if (char === '\\') at++
    else if (char === '[') {
      const end = bracketEnd(text, at)
      // A slash in brackets ends the pattern for some.
      if (end === undefined || text.slice(at, end).replace(/\\./g, '').includes('/')) return undefined
      at = end - 1
    }
  }
  return undefined
}
