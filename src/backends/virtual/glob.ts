/** Matches shell patterns: `*`, `?`, `[…]`, `{a,b}` and `**`. Without backtracking, because the model writes them. */

import { BackendError } from '#agent/core/backend.ts'

/** A pattern without a slash is matched against the name alone, one with a slash against the path below the root. */
export function glob(pattern: string): (relativePath: string) => boolean {
  const trimmed = pattern.replace(/^\.\//, '')
  const choices = expandBraces(trimmed, pattern).map(tokenize)
  if (choices.flat().filter((piece) => typeof piece === 'string').length > maxStars) throw tooComplex(pattern)
  const matches = (text: string) => choices.some((pieces) => isMatch(pieces, text))
  if (trimmed.includes('/')) return matches
  return (path) => matches(path.slice(path.lastIndexOf('/') + 1))
}

const maxPatternChars = 1_000
const maxAlternatives = 100
/** In all alternatives together. */
const maxStars = 200

const tooComplex = (pattern: string): BackendError =>
  new BackendError(
    'invalid',
    `This pattern is too complex: ${pattern.slice(0, 100)}`,
    'Use fewer braces and stars, or search several times.',
  )

const bracesPattern = /\{([^{}]*,[^{}]*)\}/

/** Each alternative in braces is a pattern of its own: `*.{ts,js}` is `*.ts` or `*.js`. */
function expandBraces(trimmed: string, pattern: string): readonly string[] {
  if (trimmed.length > maxPatternChars) throw tooComplex(pattern)
  const done: string[] = []
  const open = [trimmed]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const braces = bracesPattern.exec(next)
    if (braces) {
      const [before, after] = [next.slice(0, braces.index), next.slice(braces.index + braces[0].length)]
      open.push(...(braces[1] ?? '').split(',').map((choice) => before + choice + after))
    } else done.push(next)
    if (open.length + done.length > maxAlternatives) throw tooComplex(pattern)
  }
  return done
}

/** A test of one character, or a star: within a name, across names, or for whole names with their slash. */
type GlobToken = ((char: string) => boolean) | '*' | '**' | '**/'
const tokenPattern = /\*\*\/|\*\*|\[!?[^\]]{0,30}\]|[\s\S]/g
const stars: Readonly<Record<string, GlobToken>> = { '*': '*', '**': '**', '**/': '**/' }

const tokenize = (pattern: string): readonly GlobToken[] =>
  (pattern.match(tokenPattern) ?? []).map((piece) => stars[piece] ?? characterTest(piece))

function characterTest(piece: string): (char: string) => boolean {
  if (piece === '?') return (char) => char !== '/'
  if (piece.length === 1) return (char) => char === piece
  try {
    const set = new RegExp(piece.replace(/^\[!/, '[^').replaceAll('\\', String.raw`\\`))
    return (char) => set.test(char)
  } catch {
    throw new BackendError('invalid', `${piece} is not a valid set of characters.`, 'Write it as [a-z] or [!a-z].')
  }
}

/** Simulates a nondeterministic automaton: `states` are the positions in the pattern after each character. */
function isMatch(pieces: readonly GlobToken[], text: string): boolean {
  let states = new Set<number>()
  enter(states, 0, pieces)
  for (const char of text.split('')) {
    const next = new Set<number>()
    for (const state of states) step(state, char, { next, pieces })
    if (!next.size) return false
    states = next
  }
  return states.has(pieces.length)
}

/** Adds a state, and those after it that a star reaches with an empty match. */
function enter(states: Set<number>, state: number, pieces: readonly GlobToken[]): void {
  let at = state
  states.add(at)
  while (typeof pieces[at] === 'string') states.add(++at)
}

type Stepping = { readonly next: Set<number>; readonly pieces: readonly GlobToken[] }

function step(state: number, char: string, { next, pieces }: Stepping): void {
  const piece = pieces[state]
  if (piece === undefined) return
  if (piece === '**/') {
    next.add(state)
    if (char === '/') enter(next, state + 1, pieces)
  } else if (piece === '*' || piece === '**') {
    if (piece === '**' || char !== '/') enter(next, state, pieces)
  } else if (piece(char)) enter(next, state + 1, pieces)
}
