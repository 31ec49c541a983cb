/** Shell patterns: `*`, `?`, `[…]`, `{a,b}` and `**` across directories. Matched in one pass: they come from a model. */

import { BackendError } from '../../agent/model/backend.ts'

/** A pattern without a slash is matched against the name alone, one with a slash against the path below the root. */
export function glob(pattern: string): (relativePath: string) => boolean {
  const trimmed = pattern.replace(/^\.\//, '')
  const choices = choicesOf(trimmed, pattern).map(piecesOf)
  if (choices.flat().filter((piece) => typeof piece === 'string').length > mostStars) throw tooMuch(pattern)
  const matches = (text: string) => choices.some((pieces) => isMatch(pieces, text))
  if (trimmed.includes('/')) return matches
  return (path) => matches(path.slice(path.lastIndexOf('/') + 1))
}

const longest = 1_000
const mostChoices = 100
/** In all choices together. */
const mostStars = 200

const tooMuch = (pattern: string): BackendError =>
  new BackendError(
    'invalid',
    `This asks for too much at once: ${pattern.slice(0, 100)}`,
    'Use fewer braces and stars, or search several times.',
  )

const BRACES = /\{([^{}]*,[^{}]*)\}/

/** Each alternative in braces is a pattern of its own: `*.{ts,js}` is `*.ts` or `*.js`. */
function choicesOf(trimmed: string, pattern: string): readonly string[] {
  if (trimmed.length > longest) throw tooMuch(pattern)
  const done: string[] = []
  const open = [trimmed]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const braces = BRACES.exec(next)
    if (braces) {
      const [before, after] = [next.slice(0, braces.index), next.slice(braces.index + braces[0].length)]
      open.push(...(braces[1] ?? '').split(',').map((choice) => before + choice + after))
    } else done.push(next)
    if (open.length + done.length > mostChoices) throw tooMuch(pattern)
  }
  return done
}

/** A test of one character, or a star: within a name, across names, or whole names with the slash behind them. */
type Piece = ((char: string) => boolean) | '*' | '**' | '**/'
const PIECE = /\*\*\/|\*\*|\[!?[^\]]*\]|[\s\S]/g
const stars: Readonly<Record<string, Piece>> = { '*': '*', '**': '**', '**/': '**/' }

const piecesOf = (pattern: string): readonly Piece[] =>
  (pattern.match(PIECE) ?? []).map((piece) => stars[piece] ?? testOf(piece))

function testOf(piece: string): (char: string) => boolean {
  if (piece === '?') return (char) => char !== '/'
  if (piece.length === 1) return (char) => char === piece
  try {
    const set = new RegExp(piece.replace(/^\[!/, '[^').replaceAll('\\', String.raw`\\`))
    return (char) => set.test(char)
  } catch {
    throw new BackendError('invalid', `${piece} is no set of characters.`, 'Write it as [a-z] or [!a-z].')
  }
}

/** All places of the pattern where its matching may stand, character by character. */
function isMatch(pieces: readonly Piece[], text: string): boolean {
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

/** A star may stand for nothing. */
function enter(states: Set<number>, state: number, pieces: readonly Piece[]): void {
  let at = state
  states.add(at)
  while (typeof pieces[at] === 'string') states.add(++at)
}

type Stepping = { readonly next: Set<number>; readonly pieces: readonly Piece[] }

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
