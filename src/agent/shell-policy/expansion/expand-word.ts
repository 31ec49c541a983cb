/**
 * Expands a word as the shell does, into every possible list of fields. Commands inside the word are judged exactly once
 * per expansion.
 */

import { type ArithmeticExpression, forEachChild, parse, type SyntaxNode, type Word, type WordPart } from 'unbash'
import {
  anyCharacter,
  anyCharacters,
  anyNumber,
  anyText,
  anyWords,
  type Field,
  isLiteral,
} from '#agent/path-policy/field.ts'
import { getHome } from '#agent/path-policy/vital-paths.ts'
import { expandBraces } from './expand-braces.ts'
import { applyOperation, type Operands } from './parameter-operation.ts'
import {
  addLiteral,
  addUnknownCode,
  type CommandOutput,
  type JudgeScope,
  maxCandidates,
  type ShellValue,
  type WordParts,
} from '../shell-state.ts'
import { judgeVariable } from '../variables.ts'

const maxWords = 1_000
const maxTextChars = 20_000

/** Returns every possible list of fields. */
export function expandWord(scope: JudgeScope, word: Word): readonly (readonly Field[])[] {
  if (!word.parts?.some(({ type }) => type === 'BraceExpansion')) return expandPlain(scope, word)
  scope.judge.remainingSteps -= word.text.length >> 4
  const texts = expandBraces(word.text)
  if (!texts) {
    judgeInside(scope, word)
    return [[anyWords]]
  }
  return texts
    .flatMap((text) => parseWords(text))
    .reduce<readonly (readonly Field[])[]>((all, one) => product(all, expandPlain(scope, one), [anyWords]), [[]])
}

function expandPlain(scope: JudgeScope, word: Word): readonly (readonly Field[])[] {
  const ifs = getFieldSeparators(scope)
  const lists = expandPieces(scope, word, false).map((pieces) => splitFields(pieces, ifs))
  return [...new Map(lists.map((fields) => [fields.join('\0'), fields])).values()]
}

function parseWords(text: string): readonly Word[] {
  const command = parse(`: ${text}`).commands[0]?.command
  return command?.type === 'Command' ? command.suffix.filter((child): child is Word => child.type === 'Word') : []
}

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
export const expandText = (scope: JudgeScope, word: Word): readonly Field[] => [
  ...new Set(expandPieces(scope, word, true).map(joinPieces)),
]

/** Expands the parts of a here-document or of double quotes to one text. */
export const expandParts = (scope: JudgeScope, parts: WordParts): readonly Field[] => [
  ...new Set(listPieces(scope, parts, true).map(joinPieces)),
]

function joinPieces(pieces: WordPieces): Field {
  const text = pieces.map((piece) => ('fields' in piece ? piece.fields.join(' ') : piece.text)).join('')
  return text.length > maxTextChars ? anyText : text
}

function expandPieces(scope: JudgeScope, word: Word, quoted: boolean): readonly WordPieces[] {
  const first = word.parts?.[0]
  const tilde = expandTilde(scope, word.parts ? (first?.type === 'Literal' ? first.text : '') : word.text)
  if (!word.parts) return [[{ text: tilde ?? word.value, split: false }]]
  if (tilde === undefined) return listPieces(scope, word.parts, quoted)
  return listPieces(scope, word.parts.slice(1), quoted).map((pieces) => [{ text: tilde, split: false }, ...pieces])
}

/** Expands `~` at the start of a word; undefined when there is none. */
function expandTilde({ judge, shell }: JudgeScope, text: string): string | undefined {
  const [all, user = '', rest = ''] = /^~([\w+.-]*)(\/[\s\S]*)?$/.exec(text) ?? []
  if (all === undefined) return undefined
  if (user === '') return (shell.vars.get('HOME')?.candidates[0] ?? getHome(judge.host)) + rest
  if (user === '+' || user === '-') return anyText + rest
  return (user === 'root' ? '/root' : `/home/${user}`) + rest
}

function listPieces(scope: JudgeScope, parts: WordParts, quoted: boolean): readonly WordPieces[] {
  scope.judge.remainingSteps -= parts.length >> 3
  let all: readonly WordPieces[] = [[]]
  for (const part of parts) all = product(all, expandPart(scope, part, quoted), [{ text: anyText, split: !quoted }])
  return all
}

const onePiece = (text: Field, split = false): readonly WordPieces[] => [[{ text, split }]]

function expandPart(scope: JudgeScope, part: WordPart, quoted: boolean): readonly WordPieces[] {
  switch (part.type) {
    case 'Literal':
    case 'SingleQuoted':
    case 'AnsiCQuoted':
      return onePiece(part.value)
    case 'DoubleQuoted':
    case 'LocaleString':
      return expandQuoted(scope, part.parts)
    case 'SimpleExpansion':
      return expandVariable(scope, part.text.slice(1), quoted)
    case 'ParameterExpansion':
      return expandParameter(scope, part, quoted)
    default:
      return expandOther(scope, part, quoted)
  }
}

function expandOther(scope: JudgeScope, part: WordPart, quoted: boolean): readonly WordPieces[] {
  if (part.type === 'CommandExpansion') return onePiece(readSubstitution(scope, part), !quoted)
  if (part.type === 'ProcessSubstitution') {
    const { written } = scope.judge
    const path = `/dev/fd/${63 - [...written.keys()].filter((one) => one.startsWith('/dev/fd/')).length}`
    const output = readSubstitution(scope, part)
    written.set(path, part.operator === '<' ? output : undefined)
    return onePiece(path)
  }
  if (part.type === 'ArithmeticExpansion') {
    judgeExpression(scope, part.expression)
    return onePiece(anyNumber)
  }
  judgeInside(scope, part)
  if (part.type === 'BraceExpansion') return onePiece(quoted ? part.text : anyWords)
  if (quoted) return onePiece(part.text)
  // Unlike a wildcard, an extended pattern names hidden files.
  if (part.type === 'ExtendedGlob') return onePiece(anyText)
  if (part.text === '**') return onePiece(anyCharacters + anyCharacters)
  return onePiece(part.type === 'Glob' && part.kind !== 'star' ? anyCharacter : anyCharacters)
}

/** Judges arithmetic, which is absent where it cannot be parsed. */
export function judgeExpression(scope: JudgeScope, expression: ArithmeticExpression | undefined): void {
  if (expression) judgeArithmetic(scope, expression)
  else addUnknownCode(scope.judge, 'There is arithmetic that cannot be read')
}

const expandQuoted = (scope: JudgeScope, parts: WordParts): readonly WordPieces[] =>
  // An empty text makes `""` a word of its own.
  listPieces(scope, parts, true).map((pieces) =>
    pieces.some((piece) => 'fields' in piece) ? pieces : [{ text: joinPieces(pieces), split: false }],
  )

type Substitution = { readonly script: Parameters<JudgeScope['judge']['walkScript']>[1] | undefined }

/** Returns the output of a substitution, without the newlines at its end. It runs in a shell of its own. */
function readSubstitution({ judge, shell }: JudgeScope, { script }: Substitution): Field {
  if (!script) return anyText
  const inner = { judge, shell: { ...shell, vars: new Map(shell.vars) }, captured: true }
  judge.remainingSteps -= shell.vars.size >> 3
  const output: CommandOutput = judge.walkScript(inner, script, undefined)
  return output === undefined ? anyText : output.replace(/\n+$/, '')
}

/** Returns IFS, or undefined when its value is not known. */
function getFieldSeparators({ shell }: JudgeScope): string | undefined {
  const [only = '', ...more] = shell.vars.get('IFS')?.candidates ?? [' \t\n']
  return more.length === 0 && isLiteral(only) ? only : undefined
}

/** Stands for a background process of this command line, which may be killed without approval. */
const lastJob = '%!'
const numericVariables = new Set(
  '? # $ UID EUID PPID RANDOM SECONDS LINENO BASHPID EPOCHSECONDS SHLVL OPTIND'.split(' '),
)

/** Returns the possible values of a variable. They contain `anyText` when it comes from outside or may be unset. */
export function getVariable({ judge: { host }, shell }: JudgeScope, name: string): ShellValue {
  const value = shell.vars.get(name)
  if (value) return value
  if (numericVariables.has(name)) return { candidates: [anyNumber] }
  const known: Readonly<Record<string, readonly Field[]>> = {
    '!': [lastJob],
    HOME: [getHome(host)],
    PWD: shell.cwd,
    IFS: [' \t\n'],
  }
  const inherited = host.env && Object.hasOwn(host.env, name) ? host.env[name] : undefined
  return { candidates: (Object.hasOwn(known, name) ? known[name] : undefined) ?? [inherited ?? anyText] }
}

function expandVariable(scope: JudgeScope, name: string, quoted: boolean): readonly WordPieces[] {
  if (name === '@' || name === '*') return quoted && name === '@' ? [[{ fields: [anyWords] }]] : onePiece(anyWords)
  return getVariable(scope, name).candidates.map((text) => [{ text, split: !quoted }])
}

type Parameter = WordPart & { readonly type: 'ParameterExpansion' }

function expandParameter(scope: JudgeScope, part: Parameter, quoted: boolean): readonly WordPieces[] {
  const value = part.prefix === '!' ? readIndirect(scope, part) : readIndexed(scope, part)
  const listSign = /^[@*]$/.exec(part.index?.text ?? part.parameter)?.[0]
  if (listSign === undefined) return expandOperation(scope, part, { value, quoted })
  if (part.operation || part.prefix) return expandOperation(scope, part, { value: { candidates: [anyText] }, quoted })
  const list = value.list ?? [anyWords]
  return quoted && listSign === '@' ? [[{ fields: list }]] : onePiece(list.join(' '), !quoted)
}

type OperationInput = { readonly value: ShellValue; readonly quoted: boolean }

function expandOperation(scope: JudgeScope, part: Parameter, { value, quoted }: OperationInput): readonly WordPieces[] {
  const { operation } = part
  if (operation?.type === 'Transform' && operation.operand.value === 'P')
    addUnknownCode(scope.judge, `${part.text} runs what stands in the variable`)
  const operands: Operands = {
    text: (word) => expandText(scope, word),
    number: (word) => evaluateWord(scope, word),
    pattern: (word) => expandPattern(scope, word),
  }
  const results = applyOperation(part, { value, operands })
  if (operation?.type === 'Default') applyDefault(scope, part.parameter, results, operation.operator.endsWith('='))
  return results.map((text) => [{ text, split: !quoted }])
}

function applyDefault(scope: JudgeScope, name: string, results: readonly Field[], assigns: boolean): void {
  for (const text of results) {
    addLiteral(scope.judge, text)
    if (assigns) judgeVariable(scope, name, text, false)
  }
  if (assigns) scope.shell.vars.set(name, { candidates: results })
}

/** Expands a word of a pattern. Its globs stay active. */
const expandPattern = (scope: JudgeScope, word: Word): readonly Field[] => [
  ...new Set(expandPieces(scope, word, false).map((pieces) => joinPieces(pieces).replace(/^.*[[\\][^]*$/, anyText))),
]

function readIndexed(scope: JudgeScope, part: Parameter): ShellValue {
  const value = getVariable(scope, part.parameter)
  if (!part.index || /^[@*]$/.test(part.index.text)) return value
  const [index = ''] = evaluateWord(scope, part.index)
  const item = /^\d+$/.test(index) ? value.list?.[Number(index)] : undefined
  if (item !== undefined) return { candidates: [item] }
  return index === '0' && !value.list ? value : { candidates: [anyText] }
}

function readIndirect(scope: JudgeScope, part: Parameter): ShellValue {
  const names = readIndexed(scope, part).candidates
  const isName = (name: string): boolean => /^\w+$/.test(name)
  if (part.parameter !== '@' && !part.operation && !names.every(isName))
    judgeEvaluated(scope, names.join(' '), part.text)
  return { candidates: names.flatMap((name) => (isName(name) ? getVariable(scope, name).candidates : [anyText])) }
}

/** A fixed limit on nesting, because the size of the stack differs between runs. */
const maxOperations = 200

/** Judges arithmetic. The shell evaluates names in it, their values, and commands in subscripts of these. */
function judgeArithmetic(scope: JudgeScope, expression: ArithmeticExpression, depth = 0): void {
  if (depth > maxOperations) throw new RangeError('nested too deeply')
  if (expression.type === 'ArithmeticCommandExpansion') readSubstitution(scope, expression)
  else if (expression.type === 'ArithmeticWord') {
    const texts = expression.parts ? expandParts(scope, expression.parts) : [expression.value]
    for (const text of texts) judgeEvaluated(scope, text, 'Arithmetic')
  } else {
    forEachChild(expression, (child) => judgeArithmetic(scope, child as ArithmeticExpression, depth + 1))
    const name = findAssignedName(expression)
    if (name === undefined) return
    judgeVariable(scope, name, anyNumber, false)
    scope.shell.vars.set(name, { candidates: [anyNumber] })
  }
}

function findAssignedName(expression: ArithmeticExpression): string | undefined {
  const isBinary = expression.type === 'ArithmeticBinary' && /^(?![=!<>]=$).*=$/.test(expression.operator)
  const isUnary = expression.type === 'ArithmeticUnary' && /^(\+\+|--)$/.test(expression.operator)
  const target = isBinary ? expression.left : isUnary ? expression.operand : undefined
  return target?.type === 'ArithmeticWord' ? /^\w+/.exec(target.value)?.[0] : undefined
}

/** Expands a word that is evaluated as a number: an offset, a length, a subscript. */
function evaluateWord(scope: JudgeScope, word: Word): readonly Field[] {
  const texts = expandText(scope, word)
  for (const text of texts) judgeEvaluated(scope, text, 'Arithmetic')
  return texts
}

const maxIndirections = 4

/** Judges a text that is evaluated as a number or a name: only numbers and names of such variables are harmless. */
export function judgeEvaluated(scope: JudgeScope, text: Field, label: string, depth = 0): void {
  scope.judge.remainingSteps -= 1 + (text.length >> 8)
  if (scope.judge.remainingSteps < 0) return
  const plain = text.replaceAll(anyNumber, '0')
  if (/^[\s\d.+*/%<>=!&|^~?:(),#-]*$/.test(plain)) return
  const isPlain = /^[\w\s.+*/%<>=!&|^~?:(),#-]*$/.test(plain)
  const names = isPlain ? (plain.match(/(?<![\w.])[A-Za-z_]\w*/g) ?? []) : []
  if (!isPlain || depth >= maxIndirections) {
    addUnknownCode(scope.judge, `${label} evaluates a text as code: ${text.slice(0, 80)}`)
    addLiteral(scope.judge, text)
    return
  }
  // A variable that the line does not set comes from the environment, which the line cannot choose.
  for (const name of names)
    for (const value of scope.shell.vars.get(name)?.candidates ?? []) judgeEvaluated(scope, value, label, depth + 1)
}

/** Judges the commands inside a node whose text is not needed. */
export function judgeInside(scope: JudgeScope, node: SyntaxNode): void {
  if (node.type === 'CommandExpansion' || node.type === 'ProcessSubstitution') readSubstitution(scope, node)
  else forEachChild(node, (child) => judgeInside(scope, child))
}

/** `split`: the shell splits the text at separators. `fields`: several words, as of `"$@"`. */
type WordPiece = { readonly text: Field; readonly split: boolean } | { readonly fields: readonly Field[] }
type WordPieces = readonly WordPiece[]

/** `ifs` is undefined when its value is not known. */
function splitFields(pieces: WordPieces, ifs: string | undefined): readonly Field[] {
  const fields: Field[] = []
  let current: Field | undefined
  const splitInto = (text: Field): void => {
    for (const char of text) {
      if (ifs?.includes(char)) {
        if (current !== undefined) fields.push(current)
        current = undefined
      } else current = (current ?? '') + (activeCharacters[char] ?? char)
    }
  }
  for (const piece of pieces) {
    if ('fields' in piece) {
      piece.fields.forEach((field, i) => {
        if (i > 0 && current !== undefined) fields.push(current)
        current = i > 0 ? field : (current ?? '') + field
      })
    } else if (!piece.split) current = (current ?? '') + piece.text
    else if (ifs === undefined) current = (current ?? '') + anyWords
    else splitInto(piece.text)
  }
  return current === undefined ? fields : [...fields, current]
}

/** These characters are patterns when a variable is expanded without quotes. */
const activeCharacters: Readonly<Record<string, string>> = {
  '*': anyCharacters,
  '?': anyCharacter,
  '[': anyCharacters,
  [anyText]: anyWords,
}
