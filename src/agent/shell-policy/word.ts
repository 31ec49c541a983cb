/**
 * What a word becomes when the shell expands it: every list of fields that is possible. Commands inside are judged on
 * the way, each exactly once for each time the word is expanded.
 */

import { forEachChild, parse, type ArithmeticExpression, type SyntaxNode, type Word, type WordPart } from 'unbash'
import { expandBraces } from './braces.ts'
import { ANY, isLiteral, NUM, ONE, SPLIT, STAR, type Field } from './marks.ts'
import { applyOperation, type Operands } from './parameter.ts'
import { homeOf } from './paths.ts'
import { clone, concat, finding, MAX_CANDIDATES, type Judge, type Shell, type Stream, type Value } from './shell.ts'

export type Scope = { readonly judge: Judge; readonly shell: Shell }

/** `split`: as the shell splits it at spaces; `fields`: several words, as `"$@"` is. */
type Piece = { readonly text: Field; readonly split: boolean } | { readonly fields: readonly Field[] }
type Pieces = readonly Piece[]

/** Every possible list of words. */
export function expandWord(scope: Scope, word: Word): readonly (readonly Field[])[] {
  if (word.parts?.some(({ type }) => type === 'BraceExpansion')) return expandBraced(scope, word)
  return expandPlain(scope, word)
}

function expandPlain(scope: Scope, word: Word): readonly (readonly Field[])[] {
  const ifs = separators(scope)
  const seen = new Map(
    piecesOf(scope, word, false)
      .map((pieces) => fieldsOf(pieces, ifs))
      .map((fields) => [fields.join('\0'), fields]),
  )
  return [...seen.values()]
}

function expandBraced(scope: Scope, word: Word): readonly (readonly Field[])[] {
  const texts = expandBraces(word.text)
  if (!texts) {
    visit(scope, word)
    return [[SPLIT]]
  }
  const words = texts.flatMap((text) => parsedWords(text))
  return words.reduce<readonly (readonly Field[])[]>((all, one) => product(all, expandPlain(scope, one), [SPLIT]), [[]])
}

function parsedWords(text: string): readonly Word[] {
  const command = parse(`: ${text}`).commands[0]?.command
  if (command?.type !== 'Command') return []
  return command.suffix.filter((child): child is Word => child.type === 'Word')
}

const MAX_WORDS = 1_000

export function product<T>(
  as: readonly (readonly T[])[],
  bs: readonly (readonly T[])[],
  rest: readonly T[],
): readonly (readonly T[])[] {
  const add = (a: readonly T[], b: readonly T[]): readonly T[] =>
    a.length + b.length > MAX_WORDS ? a.slice(0, MAX_WORDS).concat(rest) : a.concat(b)
  if (bs.length === 1) return as.map((a) => add(a, bs[0] ?? []))
  if (as.length * bs.length > MAX_CANDIDATES) return as.map((a) => a.concat(rest))
  return as.flatMap((a) => bs.map((b) => add(a, b)))
}

/** The word as one text, as in an assignment. */
export function expandText(scope: Scope, word: Word): readonly Field[] {
  const texts = piecesOf(scope, word, true).map((pieces) => textOf(pieces))
  return [...new Set(texts)]
}

/** Parts of a here-document or of double quotes, as one text. */
export function expandParts(scope: Scope, parts: readonly WordPart[]): readonly Field[] {
  return [...new Set(allPieces(scope, parts, true).map((pieces) => textOf(pieces)))]
}

const MAX_TEXT = 20_000

function textOf(pieces: Pieces): Field {
  const text = pieces.map((piece) => ('fields' in piece ? piece.fields.join(' ') : piece.text)).join('')
  return text.length > MAX_TEXT ? ANY : text
}

function piecesOf(scope: Scope, word: Word, quoted: boolean): readonly Pieces[] {
  const tilde = tildeOf(scope, word.parts ? (word.parts[0]?.type === 'Literal' ? word.parts[0].text : '') : word.text)
  if (!word.parts) return [[{ text: tilde ?? word.value, split: false }]]
  if (tilde === undefined) return allPieces(scope, word.parts, quoted)
  return allPieces(scope, word.parts.slice(1), quoted).map((pieces) => [{ text: tilde, split: false }, ...pieces])
}

/** The home directory in front of a word; undefined when there is none. */
function tildeOf({ judge, shell }: Scope, text: string): string | undefined {
  if (!text.startsWith('~')) return undefined
  const [, user = '', rest = ''] = /^~([\w+.-]*)(\/[\s\S]*)?$/.exec(text) ?? []
  if (text !== `~${user}${rest}`) return undefined
  if (user === '') return (shell.vars.get('HOME')?.candidates[0] ?? homeOf(judge.around)) + rest
  if (user === '+' || user === '-') return ANY + rest
  return (user === 'root' ? '/root' : `/home/${user}`) + rest
}

function allPieces(scope: Scope, parts: readonly WordPart[], quoted: boolean): readonly Pieces[] {
  let all: readonly Pieces[] = [[]]
  for (const part of parts) all = product(all, partPieces(scope, part, quoted), [{ text: ANY, split: !quoted }])
  return all
}

const one = (text: Field, split = false): readonly Pieces[] => [[{ text, split }]]

function partPieces(scope: Scope, part: WordPart, quoted: boolean): readonly Pieces[] {
  switch (part.type) {
    case 'Literal':
    case 'SingleQuoted':
    case 'AnsiCQuoted':
      return one(part.value)
    case 'DoubleQuoted':
    case 'LocaleString':
      return part.parts.length === 0 ? one('') : quotedPieces(scope, part.parts)
    case 'SimpleExpansion':
      return variablePieces(scope, part.text.slice(1), quoted)
    case 'ParameterExpansion':
      return parameterPieces(scope, part, quoted)
    case 'CommandExpansion':
      return outputOf(scope, part).map((text) => [{ text, split: !quoted }])
    case 'ArithmeticExpansion':
      return number(scope, part.expression)
    case 'ProcessSubstitution':
      return one(processPath(scope, part))
    default:
      return globPieces(scope, part, quoted)
  }
}

function number(scope: Scope, expression: ArithmeticExpression | undefined): readonly Pieces[] {
  if (expression) visitArithmetic(scope, expression)
  else finding(scope.judge, 'ask', 'There is arithmetic that cannot be read')
  return one(NUM)
}

function globPieces(scope: Scope, part: WordPart, quoted: boolean): readonly Pieces[] {
  visit(scope, part)
  if (part.type === 'BraceExpansion') return one(quoted ? part.text : SPLIT)
  if (quoted) return one(part.text)
  return one(part.type === 'Glob' && part.kind !== 'star' ? ONE : STAR)
}

const quotedPieces = (scope: Scope, parts: readonly WordPart[]): readonly Pieces[] =>
  // An empty text first, so that `""` is a word of its own.
  allPieces(scope, parts, true).map((pieces) =>
    pieces.some((piece) => 'fields' in piece) ? pieces : [{ text: textOf(pieces), split: false }],
  )

/** What a substitution prints, without the newlines at its end. */
function outputOf(
  { judge, shell }: Scope,
  part: { readonly script: Parameters<Judge['list']>[0] | undefined },
): readonly Field[] {
  if (!part.script) return [ANY]
  const output = judge.list(part.script, clone(shell), 'none')
  return output === 'unknown' ? [ANY] : output.map((text) => text.replace(/\n+$/, ''))
}

/** Where the output of `<( )` can be read: a path that is remembered with what it holds. */
function processPath({ judge, shell }: Scope, part: WordPart & { readonly type: 'ProcessSubstitution' }): Field {
  const output: Stream = part.script
    ? judge.list(part.script, clone(shell), part.operator === '>' ? 'unknown' : 'none')
    : 'unknown'
  const path = `/dev/fd/6${shell.files.size}`
  shell.files.set(path, part.operator === '<' ? output : 'unknown')
  return path
}

/** IFS, when it is known. */
function separators({ shell }: Scope): string | undefined {
  const value = shell.vars.get('IFS')
  if (!value) return ' \t\n'
  const [only = '', ...more] = value.candidates
  return more.length === 0 && isLiteral(only) ? only : undefined
}

function fieldsOf(pieces: Pieces, ifs: string | undefined): readonly Field[] {
  const fields: Field[] = []
  let current: Field | undefined
  const splitInto = (text: Field): void => {
    for (const char of text) {
      if (ifs?.includes(char)) {
        if (current !== undefined) fields.push(current)
        current = undefined
      } else current = (current ?? '') + (ACTIVE[char] ?? char)
    }
  }
  for (const piece of pieces) {
    if ('fields' in piece) {
      piece.fields.forEach((field, i) => {
        if (i > 0 && current !== undefined) fields.push(current)
        current = i > 0 ? field : (current ?? '') + field
      })
    } else if (!piece.split) current = (current ?? '') + piece.text
    else if (ifs === undefined) current = (current ?? '') + SPLIT
    else splitInto(piece.text)
  }
  return current === undefined ? fields : [...fields, current]
}

/** Characters that become patterns when a variable is expanded without quotes. */
const ACTIVE: Readonly<Record<string, string>> = { '*': STAR, '?': ONE, '[': STAR, [ANY]: SPLIT }

/** The number of what this command has put into the background: unlike others, it may be ended. */
const LAST_JOB = '%!'

const NUMBERS = new Set([
  '?',
  '#',
  '$',
  'UID',
  'EUID',
  'PPID',
  'RANDOM',
  'SECONDS',
  'LINENO',
  'BASHPID',
  'EPOCHSECONDS',
  'SHLVL',
])

/** What a variable may hold; ANY among the candidates when it comes from outside or may be unset. */
export function valueOf({ judge, shell }: Scope, name: string): Value {
  const value = shell.vars.get(name)
  if (value) return value
  if (NUMBERS.has(name)) return { candidates: [NUM] }
  if (name === '!') return { candidates: [LAST_JOB] }
  if (/^\d+$/.test(name)) return { candidates: [positionalAt(shell, Number(name))] }
  if (name === 'HOME') return { candidates: [homeOf(judge.around)] }
  if (name === 'PWD') return { candidates: shell.cwd }
  if (name === 'IFS') return { candidates: [' \t\n'] }
  const given = judge.around.env?.[name]
  return { candidates: [given ?? ANY] }
}

function positionalAt({ positional }: Shell, index: number): Field {
  if (index === 0 || !positional) return index === 0 ? 'bash' : ANY
  const before = positional.slice(0, index)
  return before.includes(SPLIT) ? ANY : (positional[index - 1] ?? '')
}

function variablePieces(scope: Scope, name: string, quoted: boolean): readonly Pieces[] {
  if (name === '@' || name === '*') return listPieces(scope.shell.positional, quoted && name === '@', !quoted)
  return valueOf(scope, name).candidates.map((text) => [{ text, split: !quoted }])
}

function listPieces(list: readonly Field[] | undefined, whole: boolean, split: boolean): readonly Pieces[] {
  if (!list) return one(SPLIT)
  return whole ? [[{ fields: list }]] : one(list.join(' '), split)
}

type Parameter = WordPart & { readonly type: 'ParameterExpansion' }

function parameterPieces(scope: Scope, part: Parameter, quoted: boolean): readonly Pieces[] {
  const value = part.prefix === '!' ? indirect(scope, part) : indexed(scope, part)
  const whole = wholeList(part)
  if (whole && !part.operation && !part.prefix) {
    const known = value.candidates.includes(ANY) ? undefined : value.candidates
    const list = /^[@*]$/.test(part.parameter) ? scope.shell.positional : (value.list ?? known)
    return listPieces(list, quoted && whole === '@', !quoted)
  }
  return operated(scope, part, { value: whole && part.operation ? { candidates: [ANY] } : value, quoted })
}

type Operated = { readonly value: Value; readonly quoted: boolean }

function operated(scope: Scope, part: Parameter, { value, quoted }: Operated): readonly Pieces[] {
  if (part.operation?.type === 'Transform' && part.operation.operand.value === 'P')
    finding(scope.judge, 'ask', `${part.text} runs what stands in the variable`)
  const operands: Operands = {
    text: (word) => expandText(scope, word),
    number: (word) => evaluatedTexts(scope, word),
    pattern: (word) => expandPattern(scope, word),
  }
  const results = applyOperation(part, { value, operands })
  if (part.operation?.type === 'Default' && part.operation.operator.endsWith('='))
    scope.shell.vars.set(part.parameter, { candidates: results })
  return results.map((text) => [{ text, split: !quoted }])
}

const wholeList = ({ parameter, index }: Parameter): '@' | '*' | undefined => {
  const sign = index?.text ?? parameter
  return sign === '@' || sign === '*' ? sign : undefined
}

/** One word of a pattern: its globs are active. */
function expandPattern(scope: Scope, word: Word): readonly Field[] {
  const texts = piecesOf(scope, word, false).map((pieces) => textOf(pieces))
  return [...new Set(texts.map((text) => (/[[\\]/.test(text) ? ANY : text)))]
}

function indexed(scope: Scope, part: Parameter): Value {
  const value = valueOf(scope, part.parameter)
  if (!part.index || wholeList(part)) return value
  const [index = ''] = evaluatedTexts(scope, part.index)
  const item = /^\d+$/.test(index) ? value.list?.[Number(index)] : undefined
  if (item !== undefined) return { candidates: [item] }
  return index === '0' && !value.list ? value : { candidates: [ANY] }
}

function indirect(scope: Scope, part: Parameter): Value {
  const names = indexed(scope, part).candidates
  const found = names.map((name) => {
    judgeSubscripts(scope, name, part.text)
    return /^\w+$/.test(name) ? valueOf(scope, name).candidates : [ANY]
  })
  return { candidates: found.flat() }
}

/** Where the shell reads a value as a name or as arithmetic, it runs the substitutions that stand in it. */
export function judgeSubscripts(scope: Scope, text: Field, where: string): void {
  if (!text.includes('$(') && !text.includes('`')) return
  finding(scope.judge, 'ask', `${where} runs the command in ${text.slice(0, 80)}`)
  // In a here-document quotes are nothing special and substitutions are run, as they are here.
  scope.judge.script(`: <<TALARIA_TEXT_ENDS\n${text}\nTALARIA_TEXT_ENDS\n`, clone(scope.shell), 'none')
}

/** Operations inside each other; where the stack ends differs from run to run. */
const MAX_OPERATIONS = 200

function visitArithmetic(scope: Scope, expression: ArithmeticExpression, depth = 0): void {
  if (depth > MAX_OPERATIONS) throw new RangeError('nested too deeply')
  if (expression.type === 'ArithmeticCommandExpansion') outputOf(scope, expression)
  else if (expression.type === 'ArithmeticWord') arithmeticWord(scope, expression)
  else {
    forEachChild(expression, (child) => visitArithmetic(scope, child as ArithmeticExpression, depth + 1))
    if (expression.type === 'ArithmeticBinary') assigned(scope, expression.operator, expression.left)
    if (expression.type === 'ArithmeticUnary' && expression.operator.length === 2)
      assigned(scope, '=', expression.operand)
  }
}

export { visitArithmetic as judgeArithmetic }

function assigned({ shell }: Scope, operator: string, target: ArithmeticExpression): void {
  if (!operator.endsWith('=') || /^[=!<>]=$/.test(operator) || target.type !== 'ArithmeticWord') return
  const [name = ''] = /^\w+/.exec(target.value) ?? []
  shell.vars.set(name, { candidates: [NUM] })
}

/** Names in arithmetic are evaluated, and so is what they hold. */
function arithmeticWord(scope: Scope, word: ArithmeticExpression & { readonly type: 'ArithmeticWord' }): void {
  for (const text of word.parts ? expandParts(scope, word.parts) : [word.value])
    judgeEvaluated(scope, text, 'Arithmetic')
}

/** A word that is evaluated as a number: an offset, a length, a subscript. */
function evaluatedTexts(scope: Scope, word: Word): readonly Field[] {
  const texts = expandText(scope, word)
  for (const text of texts) judgeEvaluated(scope, text, 'Arithmetic')
  return texts
}

/** Text that is evaluated as a number: what stands in it, and what the names in it hold, and the names in that. */
export function judgeEvaluated(scope: Scope, text: Field, where: string, seen: Set<string> = new Set()): void {
  judgeSubscripts(scope, text, where)
  for (const name of text.match(/[A-Za-z_]\w*/g) ?? []) {
    if (seen.has(name)) continue
    seen.add(name)
    const { candidates } = valueOf(scope, name)
    for (const held of candidates) judgeEvaluated(scope, held, `Arithmetic on ${name}`, seen)
    if (scope.shell.vars.has(name) && candidates.includes(ANY) && !scope.judge.around.sandboxed)
      finding(scope.judge, 'ask', `Arithmetic on ${name} evaluates a value that is only known when it runs`)
  }
}

/** Judges what runs inside a node whose value is of no interest. */
export function visit(scope: Scope, node: SyntaxNode): void {
  if (node.type === 'CommandExpansion' || node.type === 'ProcessSubstitution') outputOf(scope, node)
  else forEachChild(node, (child) => visit(scope, child))
}

export const streamOf = (texts: readonly Field[]): Stream =>
  texts.some((text) => text.includes(ANY) || text.includes(SPLIT)) ? 'unknown' : concat(texts, [''])
