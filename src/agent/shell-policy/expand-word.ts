/**
 * Expands a word as the shell does, into every possible list of fields. Commands inside the word are judged exactly once
 * per expansion.
 */

import { forEachChild, parse, type ArithmeticExpression, type SyntaxNode, type Word, type WordPart } from 'unbash'
import { expandBraces } from './expand-braces.ts'
import { anyText, isLiteral, anyNumber, anyCharacter, anyWords, anyCharacters, type Field } from './field.ts'
import { applyOperation, type Operands } from './parameter-operation.ts'
import { getHome } from './path-zones.ts'
import { splitFields, type WordPieces } from './split-fields.ts'
import {
  cloneShell,
  concatStreams,
  addFinding,
  maxCandidates,
  type Judge,
  type Shell,
  type Stream,
  type Value,
} from './shell-state.ts'

export type Scope = { readonly judge: Judge; readonly shell: Shell }

/** Returns every possible list of fields. */
export function expandWord(scope: Scope, word: Word): readonly (readonly Field[])[] {
  if (word.parts?.some(({ type }) => type === 'BraceExpansion')) return expandBraced(scope, word)
  return expandPlain(scope, word)
}

function expandPlain(scope: Scope, word: Word): readonly (readonly Field[])[] {
  const ifs = getFieldSeparators(scope)
  const seen = new Map(
    expandPieces(scope, word, false)
      .map((pieces) => splitFields(pieces, ifs))
      .map((fields) => [fields.join('\0'), fields]),
  )
  return [...seen.values()]
}

function expandBraced(scope: Scope, word: Word): readonly (readonly Field[])[] {
  const texts = expandBraces(word.text)
  if (!texts) {
    judgeInside(scope, word)
    return [[anyWords]]
  }
  const words = texts.flatMap((text) => parsedWords(text))
  return words.reduce<readonly (readonly Field[])[]>(
    (all, singlePiece) => product(all, expandPlain(scope, singlePiece), [anyWords]),
    [[]],
  )
}

function parsedWords(text: string): readonly Word[] {
  const command = parse(`: ${text}`).commands[0]?.command
  if (command?.type !== 'Command') return []
  return command.suffix.filter((child): child is Word => child.type === 'Word')
}

const maxWords = 1_000

export function product<T>(
  as: readonly (readonly T[])[],
  bs: readonly (readonly T[])[],
  rest: readonly T[],
): readonly (readonly T[])[] {
  const add = (a: readonly T[], b: readonly T[]): readonly T[] =>
    a.length + b.length > maxWords ? a.slice(0, maxWords).concat(rest) : a.concat(b)
  if (bs.length === 1) return as.map((a) => add(a, bs[0] ?? []))
  if (as.length * bs.length > maxCandidates) return as.map((a) => a.concat(rest))
  return as.flatMap((a) => bs.map((b) => add(a, b)))
}

/** Expands a word to one text, as in an assignment. */
export function expandText(scope: Scope, word: Word): readonly Field[] {
  const texts = expandPieces(scope, word, true).map((pieces) => joinPieces(pieces))
  return [...new Set(texts)]
}

/** Expands the parts of a here-document or of double quotes to one text. */
export function expandParts(scope: Scope, parts: readonly WordPart[]): readonly Field[] {
  return [...new Set(allPieces(scope, parts, true).map((pieces) => joinPieces(pieces)))]
}

const maxTextChars = 20_000

function joinPieces(pieces: WordPieces): Field {
  const text = pieces.map((piece) => ('fields' in piece ? piece.fields.join(' ') : piece.text)).join('')
  return text.length > maxTextChars ? anyText : text
}

function expandPieces(scope: Scope, word: Word, quoted: boolean): readonly WordPieces[] {
  const tilde = expandTilde(
    scope,
    word.parts ? (word.parts[0]?.type === 'Literal' ? word.parts[0].text : '') : word.text,
  )
  if (!word.parts) return [[{ text: tilde ?? word.value, split: false }]]
  if (tilde === undefined) return allPieces(scope, word.parts, quoted)
  return allPieces(scope, word.parts.slice(1), quoted).map((pieces) => [{ text: tilde, split: false }, ...pieces])
}

/** Expands `~` at the start of a word; undefined when there is none. */
function expandTilde({ judge, shell }: Scope, text: string): string | undefined {
  if (!text.startsWith('~')) return undefined
  const [, user = '', rest = ''] = /^~([\w+.-]*)(\/[\s\S]*)?$/.exec(text) ?? []
  if (text !== `~${user}${rest}`) return undefined
  if (user === '') return (shell.vars.get('HOME')?.candidates[0] ?? getHome(judge.host)) + rest
  if (user === '+' || user === '-') return anyText + rest
  return (user === 'root' ? '/root' : `/home/${user}`) + rest
}

function allPieces(scope: Scope, parts: readonly WordPart[], quoted: boolean): readonly WordPieces[] {
  let all: readonly WordPieces[] = [[]]
  for (const part of parts) all = product(all, partPieces(scope, part, quoted), [{ text: anyText, split: !quoted }])
  return all
}

const singlePiece = (text: Field, split = false): readonly WordPieces[] => [[{ text, split }]]

function partPieces(scope: Scope, part: WordPart, quoted: boolean): readonly WordPieces[] {
  switch (part.type) {
    case 'Literal':
    case 'SingleQuoted':
    case 'AnsiCQuoted':
      return singlePiece(part.value)
    case 'DoubleQuoted':
    case 'LocaleString':
      return part.parts.length === 0 ? singlePiece('') : quotedPieces(scope, part.parts)
    case 'SimpleExpansion':
      return variablePieces(scope, part.text.slice(1), quoted)
    case 'ParameterExpansion':
      return parameterPieces(scope, part, quoted)
    case 'CommandExpansion':
      return getSubstitutionOutput(scope, part).map((text) => [{ text, split: !quoted }])
    case 'ArithmeticExpansion':
      return arithmeticPieces(scope, part.expression)
    case 'ProcessSubstitution':
      return singlePiece(recordProcessSubstitution(scope, part))
    default:
      return globPieces(scope, part, quoted)
  }
}

function arithmeticPieces(scope: Scope, expression: ArithmeticExpression | undefined): readonly WordPieces[] {
  if (expression) visitArithmetic(scope, expression)
  else addFinding(scope.judge, 'ask', 'There is arithmetic that cannot be read')
  return singlePiece(anyNumber)
}

function globPieces(scope: Scope, part: WordPart, quoted: boolean): readonly WordPieces[] {
  judgeInside(scope, part)
  if (part.type === 'BraceExpansion') return singlePiece(quoted ? part.text : anyWords)
  if (quoted) return singlePiece(part.text)
  return singlePiece(part.type === 'Glob' && part.kind !== 'star' ? anyCharacter : anyCharacters)
}

const quotedPieces = (scope: Scope, parts: readonly WordPart[]): readonly WordPieces[] =>
  // An empty text makes `""` a word of its own.
  allPieces(scope, parts, true).map((pieces) =>
    pieces.some((piece) => 'fields' in piece) ? pieces : [{ text: joinPieces(pieces), split: false }],
  )

/** Returns the output of a substitution, without the newlines at its end. */
function getSubstitutionOutput(
  { judge, shell }: Scope,
  part: { readonly script: Parameters<Judge['judgeList']>[0] | undefined },
): readonly Field[] {
  if (!part.script) return [anyText]
  const output = judge.judgeList(part.script, cloneShell(shell), 'none')
  return output === 'unknown' ? [anyText] : output.map((text) => text.replace(/\n+$/, ''))
}

/** Returns the path of `<( )` and records its content, so that reading the path is judged by it. */
function recordProcessSubstitution(
  { judge, shell }: Scope,
  part: WordPart & { readonly type: 'ProcessSubstitution' },
): Field {
  const output: Stream = part.script
    ? judge.judgeList(part.script, cloneShell(shell), part.operator === '>' ? 'unknown' : 'none')
    : 'unknown'
  const path = `/dev/fd/6${shell.files.size}`
  shell.files.set(path, part.operator === '<' ? output : 'unknown')
  return path
}

/** Returns IFS, or undefined when its value is not known. */
function getFieldSeparators({ shell }: Scope): string | undefined {
  const value = shell.vars.get('IFS')
  if (!value) return ' \t\n'
  const [only = '', ...more] = value.candidates
  return more.length === 0 && isLiteral(only) ? only : undefined
}

/** Stands for a background process of this command line, which may be killed without approval. */
const lastJob = '%!'

const numericVariables = new Set([
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

/** Returns the possible values of a variable. They contain `anyText` when it comes from outside or may be unset. */
export function getVariable({ judge, shell }: Scope, name: string): Value {
  const value = shell.vars.get(name)
  if (value) return value
  if (numericVariables.has(name)) return { candidates: [anyNumber] }
  if (name === '!') return { candidates: [lastJob] }
  if (/^\d+$/.test(name)) return { candidates: [getPositional(shell, Number(name))] }
  if (name === 'HOME') return { candidates: [getHome(judge.host)] }
  if (name === 'PWD') return { candidates: shell.cwd }
  if (name === 'IFS') return { candidates: [' \t\n'] }
  const inherited = judge.host.env?.[name]
  return { candidates: [inherited ?? anyText] }
}

function getPositional({ positional }: Shell, index: number): Field {
  if (index === 0 || !positional) return index === 0 ? 'bash' : anyText
  const before = positional.slice(0, index)
  return before.includes(anyWords) ? anyText : (positional[index - 1] ?? '')
}

function variablePieces(scope: Scope, name: string, quoted: boolean): readonly WordPieces[] {
  if (name === '@' || name === '*') return listPieces(scope.shell.positional, quoted && name === '@', !quoted)
  return getVariable(scope, name).candidates.map((text) => [{ text, split: !quoted }])
}

function listPieces(list: readonly Field[] | undefined, listSign: boolean, split: boolean): readonly WordPieces[] {
  if (!list) return singlePiece(anyWords)
  return listSign ? [[{ fields: list }]] : singlePiece(list.join(' '), split)
}

type Parameter = WordPart & { readonly type: 'ParameterExpansion' }

function parameterPieces(scope: Scope, part: Parameter, quoted: boolean): readonly WordPieces[] {
  const value = part.prefix === '!' ? expandIndirect(scope, part) : expandIndexed(scope, part)
  const listSign = getListSign(part)
  if (listSign && !part.operation && !part.prefix) {
    const candidates = value.candidates.includes(anyText) ? undefined : value.candidates
    const list = /^[@*]$/.test(part.parameter) ? scope.shell.positional : (value.list ?? candidates)
    return listPieces(list, quoted && listSign === '@', !quoted)
  }
  return applyParameterOperation(scope, part, {
    value: listSign && part.operation ? { candidates: [anyText] } : value,
    quoted,
  })
}

type OperationInput = { readonly value: Value; readonly quoted: boolean }

function applyParameterOperation(
  scope: Scope,
  part: Parameter,
  { value, quoted }: OperationInput,
): readonly WordPieces[] {
  if (part.operation?.type === 'Transform' && part.operation.operand.value === 'P')
    addFinding(scope.judge, 'ask', `${part.text} runs what stands in the variable`)
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

const getListSign = ({ parameter, index }: Parameter): '@' | '*' | undefined => {
  const sign = index?.text ?? parameter
  return sign === '@' || sign === '*' ? sign : undefined
}

/** Expands a word of a pattern. Its globs stay active. */
function expandPattern(scope: Scope, word: Word): readonly Field[] {
  const texts = expandPieces(scope, word, false).map((pieces) => joinPieces(pieces))
  return [...new Set(texts.map((text) => (/[[\\]/.test(text) ? anyText : text)))]
}

function expandIndexed(scope: Scope, part: Parameter): Value {
  const value = getVariable(scope, part.parameter)
  if (!part.index || getListSign(part)) return value
  const [index = ''] = evaluatedTexts(scope, part.index)
  const item = /^\d+$/.test(index) ? value.list?.[Number(index)] : undefined
  if (item !== undefined) return { candidates: [item] }
  return index === '0' && !value.list ? value : { candidates: [anyText] }
}

function expandIndirect(scope: Scope, part: Parameter): Value {
  const names = expandIndexed(scope, part).candidates
  const found = names.map((name) => {
    judgeSubscripts(scope, name, part.text)
    return /^\w+$/.test(name) ? getVariable(scope, name).candidates : [anyText]
  })
  return { candidates: found.flat() }
}

/** The shell runs command substitutions inside a value that it evaluates as a name or as arithmetic. */
export function judgeSubscripts(scope: Scope, text: Field, label: string): void {
  if (!text.includes('$(') && !text.includes('`')) return
  addFinding(scope.judge, 'ask', `${label} runs the command in ${text.slice(0, 80)}`)
  // A here-document runs substitutions and ignores quotes, as such an evaluation does.
  scope.judge.judgeScript(`: <<TALARIA_TEXT_ENDS\n${text}\nTALARIA_TEXT_ENDS\n`, cloneShell(scope.shell), 'none')
}

/** A fixed limit on nesting, because the size of the stack differs between runs. */
const maxOperations = 200

function visitArithmetic(scope: Scope, expression: ArithmeticExpression, depth = 0): void {
  if (depth > maxOperations) throw new RangeError('nested too deeply')
  if (expression.type === 'ArithmeticCommandExpansion') getSubstitutionOutput(scope, expression)
  else if (expression.type === 'ArithmeticWord') judgeArithmeticWord(scope, expression)
  else {
    forEachChild(expression, (child) => visitArithmetic(scope, child as ArithmeticExpression, depth + 1))
    if (expression.type === 'ArithmeticBinary') recordAssignment(scope, expression.operator, expression.left)
    if (expression.type === 'ArithmeticUnary' && expression.operator.length === 2)
      recordAssignment(scope, '=', expression.operand)
  }
}

export { visitArithmetic as judgeArithmetic }

function recordAssignment({ shell }: Scope, operator: string, target: ArithmeticExpression): void {
  if (!operator.endsWith('=') || /^[=!<>]=$/.test(operator) || target.type !== 'ArithmeticWord') return
  const [name = ''] = /^\w+/.exec(target.value) ?? []
  shell.vars.set(name, { candidates: [anyNumber] })
}

/** Arithmetic evaluates names, and their values in turn. */
function judgeArithmeticWord(scope: Scope, word: ArithmeticExpression & { readonly type: 'ArithmeticWord' }): void {
  for (const text of word.parts ? expandParts(scope, word.parts) : [word.value])
    judgeEvaluated(scope, text, 'Arithmetic')
}

/** Expands a word that is evaluated as a number: an offset, a length, a subscript. */
function evaluatedTexts(scope: Scope, word: Word): readonly Field[] {
  const texts = expandText(scope, word)
  for (const text of texts) judgeEvaluated(scope, text, 'Arithmetic')
  return texts
}

/** Judges a text that is evaluated as a number, with the values of its names, recursively. */
export function judgeEvaluated(scope: Scope, text: Field, label: string, seen: Set<string> = new Set()): void {
  judgeSubscripts(scope, text, label)
  for (const name of text.match(/[A-Za-z_]\w*/g) ?? []) {
    if (seen.has(name)) continue
    seen.add(name)
    const { candidates } = getVariable(scope, name)
    for (const nameValue of candidates) judgeEvaluated(scope, nameValue, `Arithmetic on ${name}`, seen)
    if (scope.shell.vars.has(name) && candidates.includes(anyText) && !scope.judge.host.isSandboxed)
      addFinding(scope.judge, 'ask', `Arithmetic on ${name} evaluates a value that is only known at run time`)
  }
}

/** Judges the commands inside a node whose value is not needed. */
export function judgeInside(scope: Scope, node: SyntaxNode): void {
  if (node.type === 'CommandExpansion' || node.type === 'ProcessSubstitution') getSubstitutionOutput(scope, node)
  else forEachChild(node, (child) => judgeInside(scope, child))
}

export const toStream = (texts: readonly Field[]): Stream =>
  texts.some((text) => text.includes(anyText) || text.includes(anyWords)) ? 'unknown' : concatStreams(texts, [''])
