/** Judges one simple command: its assignments, its redirections, and every possible list of its words. */

import type { Assignment, Command, CommandArgument, HereDoc, Redirect, Redirection, Word } from 'unbash'
import { anyText, isLiteral, isUnknown, renderField, anyWords, type Field } from './field.ts'
import { recordContent, checkReads, checkWrites } from './call-checks.ts'
import { resolvePaths } from './path-zones.ts'
import {
  cloneShell,
  concatStreams,
  addFinding,
  joinShells,
  type Call,
  type Judge,
  type Shell,
  type Stdin,
  type Stream,
  type Value,
} from './shell-state.ts'
import { judgeVariable } from './judge-variables.ts'
import {
  expandParts,
  expandText,
  expandWord,
  judgeEvaluated,
  product,
  toStream,
  getVariable,
  type Scope,
} from './expand-word.ts'

/** Creates a call for the shell itself, because redirections are effects of the shell. */
export const createShellCall = (judge: Judge, shell: Shell, name: string, args: readonly Field[] = []): Call => ({
  name,
  args,
  shell,
  stdin: 'none',
  judge,
  ask: (reason, rule) => addFinding(judge, 'ask', reason, rule === null ? undefined : (rule ?? name)),
  refuse: (reason) => addFinding(judge, 'hardline', reason),
})

export function judgeSimpleCommand(scope: Scope, node: Command, stdin: Stdin): Stream {
  const { judge, shell } = scope
  const assignments = node.prefix.filter((child): child is Assignment => child.type === 'Assignment')
  const words = node.name ? [node.name, ...node.args] : []
  let lists: readonly (readonly Field[])[] = [[]]
  for (const word of words) lists = product(lists, expandArgument(scope, word), [anyWords])
  const { input, target } = judgeRedirections(scope, node.redirects, stdin)
  if (words.length === 0) return applyAssignments(scope, assignments, node.redirects, input)
  const innerShell = assignments.length > 0 ? cloneShell(shell) : shell
  for (const assignment of assignments) assign({ judge, shell: innerShell }, assignment, true)
  const outputs = lists.map((argv) => (argv.length > 0 ? judge.judgeCall(argv, innerShell, input) : ['']))
  if (innerShell !== shell) restoreVariables(scope, innerShell, assignments)
  const output = outputs.length === 1 ? (outputs[0] ?? 'unknown') : mergeStreams(outputs)
  return target ? target(output) : output
}

/** Restores the variables that were set for one command only. Its other changes remain. */
function restoreVariables({ judge, shell }: Scope, innerShell: Shell, assignments: readonly Assignment[]): void {
  for (const { name } of assignments) {
    const value = shell.vars.get(name)
    if (value) innerShell.vars.set(name, value)
    else innerShell.vars.delete(name)
  }
  joinShells(shell, innerShell, (name) => getVariable({ judge, shell }, name))
}

const mergeStreams = (outputs: readonly Stream[]): Stream =>
  outputs.includes('unknown') ? 'unknown' : [...new Set((outputs as readonly (readonly string[])[]).flat())]

function applyAssignments(
  scope: Scope,
  assignments: readonly Assignment[],
  redirects: readonly Redirection[],
  input: Stdin,
): Stream {
  for (const assignment of assignments) assign(scope, assignment, false)
  // `$(<file)` prints the file.
  const readsFile = redirects.some((redirect) => redirect.type === 'Redirect' && redirect.operator === '<')
  return readsFile ? (input === 'none' ? 'unknown' : input) : ['']
}

function expandArgument(scope: Scope, word: CommandArgument): readonly (readonly Field[])[] {
  if (word.type === 'Word') return expandWord(scope, word)
  assign(scope, word, false)
  const texts = word.value.type === 'Word' ? (scope.shell.vars.get(word.name)?.candidates ?? [anyText]) : ['']
  return texts.map((text) => [`${word.name}=${text}`])
}

function assign(scope: Scope, assignment: Assignment, exported: boolean): void {
  const { judge, shell } = scope
  const { name, value, append } = assignment
  judgeIndex(scope, assignment)
  const previous = append || assignment.index ? getVariable(scope, name) : undefined
  if (value.type === 'ArrayValue') {
    const list = expandArray(scope, value.elements, previous)
    shell.vars.set(name, list ? { candidates: [list[0] ?? ''], list } : { candidates: [anyText] })
    return
  }
  const texts = expandText(scope, value)
  const all = previous ? concatStreams(previous.candidates, texts) : texts
  shell.vars.set(name, { candidates: assignment.index || all === 'unknown' ? [anyText] : all })
  for (const text of texts) judgeVariable(createShellCall(judge, shell, name), name, text, exported)
}

function judgeIndex(scope: Scope, { index, name }: Assignment): void {
  for (const text of index ? expandText(scope, index) : []) judgeEvaluated(scope, text, name)
}

/** Assigns an array, or appends to it. */
function expandArray(
  scope: Scope,
  elements: readonly Word[],
  previous: Value | undefined,
): readonly Field[] | undefined {
  const items = listArrayItems(scope, elements)
  if (!previous) return items
  const [only, ...others] = previous.candidates
  const before = previous.list ?? (others.length === 0 && only !== undefined && isLiteral(only) ? [only] : undefined)
  return items && before && [...before, ...items]
}

/** Returns the items of an array when they are known and in order. */
function listArrayItems(scope: Scope, elements: readonly Word[]): readonly Field[] | undefined {
  const items = elements.map((element) => expandWord(scope, element))
  const [indexes, texts] = [
    elements.map(({ text }) => /^\[([^\]]*)\]=/.exec(text)),
    items.flatMap((one) => one[0] ?? []),
  ]
  for (const index of indexes) if (index) judgeEvaluated(scope, index[1] ?? '', 'A subscript')
  // `([0]=a [1]=b)` is the same as `(a b)`.
  const numbered = texts.length === elements.length && indexes.every((index, i) => index?.[1] === `${i}`)
  if (items.some(({ length }) => length !== 1) || (indexes.some((index) => index) && !numbered)) return undefined
  return numbered && elements.length > 0 ? texts.map((text) => text.slice(text.indexOf('=') + 1)) : texts
}

type Redirected = { readonly input: Stdin; readonly target: ((output: Stream) => Stream) | undefined }

/** Judges redirections. Returns the input of the command and the handler of its output. */
export function judgeRedirections(scope: Scope, redirects: readonly Redirection[], stdin: Stdin): Redirected {
  let input = stdin
  const targets: Target[] = []
  for (const redirect of redirects) {
    if (redirect.type === 'HereDoc') input = expandHereDocument(scope, redirect)
    else if (redirect.type === 'HereString') input = expandHereString(scope, redirect.target)
    else input = judgeFileRedirection(scope, redirect, { input, targets })
  }
  if (targets.length === 0) return { input, target: undefined }
  return { input, target: (output) => writeOutput(scope, targets, output) }
}

type Target = { readonly path: Field; readonly append: boolean }

/** Judges a redirection from or to a file. Returns the new input. */
function judgeFileRedirection(
  scope: Scope,
  redirect: Redirect,
  { input, targets }: { readonly input: Stdin; readonly targets: Target[] },
): Stdin {
  let readsFile = input
  const printed = redirect.descriptor?.type !== 'FileDescriptor' || redirect.descriptor.value === 1
  for (const path of expandTarget(scope, redirect.target)) {
    const kind = judgeTarget(scope, redirect.operator, path)
    if (kind === 'read') readsFile = getFileContent(scope.shell, path)
    else if (kind !== 'none' && printed) targets.push({ path, append: kind === 'append' })
  }
  return readsFile
}

function writeOutput(
  scope: Scope,
  targets: readonly { readonly path: Field; readonly append: boolean }[],
  output: Stream,
): Stream {
  const call = createShellCall(scope.judge, scope.shell, 'The redirection')
  for (const { path, append } of targets) {
    const previous = append ? getFileContent(scope.shell, path, ['']) : ['']
    recordContent(call, path, targets.length > 1 ? 'unknown' : concatStreams(previous, output))
  }
  return ['']
}

const descriptorPattern = /^\d+-?$|^-$/

function judgeTarget(scope: Scope, operator: string, path: Field): 'read' | 'write' | 'append' | 'none' {
  const call = createShellCall(scope.judge, scope.shell, 'The redirection')
  if ((operator === '>&' || operator === '<&') && descriptorPattern.test(path)) return 'none'
  if (operator === '<') {
    if (isUnknown(path) && scope.judge.host.isSandboxed === false && path === anyText) return 'read'
    checkReads(call, [path])
    return 'read'
  }
  if (path.startsWith('/dev/tcp/') || path.startsWith('/dev/udp/'))
    call.ask(`A connection to ${renderField(path.slice(9))} is opened`)
  checkWrites(call, [path], 'write to')
  return operator.includes('>>') ? 'append' : 'write'
}

function expandTarget(scope: Scope, target: Word | undefined): readonly Field[] {
  if (!target) return [anyText]
  const lists = expandWord(scope, target)
  return lists.flatMap((fields) => (fields.length === 1 ? fields : [anyText]))
}

/** Returns the content of a file that this command line has written. */
export function getFileContent(shell: Shell, path: Field, otherwise: Stream = 'unknown'): Stream {
  if (path === '/dev/null') return ['']
  const contents = resolvePaths(path, shell).map((resolved) => shell.files.get(resolved) ?? otherwise)
  return isLiteral(path) ? mergeStreams(contents) : 'unknown'
}

function expandHereDocument(scope: Scope, { body, delimiter, operator }: HereDoc): Stream {
  const strip = (text: string): string => (operator === '<<-' ? text.replace(/^\t+/gm, '') : text)
  if (delimiter?.quoted) return [strip(body.text)]
  if (!body.parts) return [strip(unescaped(body.text))]
  return toStream(expandParts(scope, body.parts).map((text) => strip(text)))
}

const unescaped = (text: string): string =>
  text.replace(/\\([$`\\\n])/g, (_, char: string) => (char === '\n' ? '' : char))

function expandHereString(scope: Scope, target: Word | undefined): Stream {
  if (!target) return 'unknown'
  return toStream(expandText(scope, target).map((text) => `${text}\n`))
}
