/** Judges one simple command: its assignments, its redirections, and every possible list of its words. */

import type { Assignment, Command, CommandArgument, HereDoc, Redirect, Redirection, Word } from 'unbash'
import { anyText, isLiteral, isUnknown, renderField, anyWords, type Field } from './field.ts'
import { recordContent, checkReads, checkWrites } from './call-checks.ts'
import { resolvePlaces } from './path-zones.ts'
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
  for (const word of words) lists = product(lists, argument(scope, word), [anyWords])
  const { input, target } = judgeRedirections(scope, node.redirects, stdin)
  if (words.length === 0) return assigning(scope, assignments, node.redirects, input)
  const own = assignments.length > 0 ? cloneShell(shell) : shell
  for (const assignment of assignments) assign({ judge, shell: own }, assignment, true)
  const outputs = lists.map((argv) => (argv.length > 0 ? judge.judgeCall(argv, own, input) : ['']))
  if (own !== shell) afterwards(scope, own, assignments)
  const output = outputs.length === 1 ? (outputs[0] ?? 'unknown') : merged(outputs)
  return target ? target(output) : output
}

/** Restores the variables that were set for one command only. Its other changes remain. */
function afterwards({ judge, shell }: Scope, own: Shell, assignments: readonly Assignment[]): void {
  for (const { name } of assignments) {
    const value = shell.vars.get(name)
    if (value) own.vars.set(name, value)
    else own.vars.delete(name)
  }
  joinShells(shell, own, (name) => getVariable({ judge, shell }, name))
}

const merged = (outputs: readonly Stream[]): Stream =>
  outputs.includes('unknown') ? 'unknown' : [...new Set((outputs as readonly (readonly string[])[]).flat())]

function assigning(
  scope: Scope,
  assignments: readonly Assignment[],
  redirects: readonly Redirection[],
  input: Stdin,
): Stream {
  for (const assignment of assignments) assign(scope, assignment, false)
  // `$(<file)` prints the file.
  const reading = redirects.some((redirect) => redirect.type === 'Redirect' && redirect.operator === '<')
  return reading ? (input === 'none' ? 'unknown' : input) : ['']
}

function argument(scope: Scope, word: CommandArgument): readonly (readonly Field[])[] {
  if (word.type === 'Word') return expandWord(scope, word)
  assign(scope, word, false)
  const texts = word.value.type === 'Word' ? (scope.shell.vars.get(word.name)?.candidates ?? [anyText]) : ['']
  return texts.map((text) => [`${word.name}=${text}`])
}

function assign(scope: Scope, assignment: Assignment, exported: boolean): void {
  const { judge, shell } = scope
  const { name, value, append } = assignment
  subscript(scope, assignment)
  const was = append || assignment.index ? getVariable(scope, name) : undefined
  if (value.type === 'ArrayValue') {
    const list = joinedItems(scope, value.elements, was)
    shell.vars.set(name, list ? { candidates: [list[0] ?? ''], list } : { candidates: [anyText] })
    return
  }
  const texts = expandText(scope, value)
  const all = was ? concatStreams(was.candidates, texts) : texts
  shell.vars.set(name, { candidates: assignment.index || all === 'unknown' ? [anyText] : all })
  for (const text of texts) judgeVariable(createShellCall(judge, shell, name), name, text, exported)
}

function subscript(scope: Scope, { index, name }: Assignment): void {
  for (const text of index ? expandText(scope, index) : []) judgeEvaluated(scope, text, name)
}

/** Assigns an array, or appends to it. */
function joinedItems(scope: Scope, elements: readonly Word[], was: Value | undefined): readonly Field[] | undefined {
  const items = itemsOf(scope, elements)
  if (!was) return items
  const [only, ...others] = was.candidates
  const before = was.list ?? (others.length === 0 && only !== undefined && isLiteral(only) ? [only] : undefined)
  return items && before && [...before, ...items]
}

/** Returns the items of an array when they are known and in order. */
function itemsOf(scope: Scope, elements: readonly Word[]): readonly Field[] | undefined {
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
    if (redirect.type === 'HereDoc') input = hereDocument(scope, redirect)
    else if (redirect.type === 'HereString') input = hereString(scope, redirect.target)
    else input = filed(scope, redirect, { input, targets })
  }
  if (targets.length === 0) return { input, target: undefined }
  return { input, target: (output) => poured(scope, targets, output) }
}

type Target = { readonly path: Field; readonly append: boolean }

/** Judges a redirection from or to a file. Returns the new input. */
function filed(
  scope: Scope,
  redirect: Redirect,
  { input, targets }: { readonly input: Stdin; readonly targets: Target[] },
): Stdin {
  let reading = input
  const printed = redirect.descriptor?.type !== 'FileDescriptor' || redirect.descriptor.value === 1
  for (const path of targetOf(scope, redirect.target)) {
    const kind = direct(scope, redirect.operator, path)
    if (kind === 'read') reading = getFileContent(scope.shell, path)
    else if (kind !== 'none' && printed) targets.push({ path, append: kind === 'append' })
  }
  return reading
}

function poured(
  scope: Scope,
  targets: readonly { readonly path: Field; readonly append: boolean }[],
  output: Stream,
): Stream {
  const call = createShellCall(scope.judge, scope.shell, 'The redirection')
  for (const { path, append } of targets) {
    const was = append ? getFileContent(scope.shell, path, ['']) : ['']
    recordContent(call, path, targets.length > 1 ? 'unknown' : concatStreams(was, output))
  }
  return ['']
}

const descriptorPattern = /^\d+-?$|^-$/

function direct(scope: Scope, operator: string, path: Field): 'read' | 'write' | 'append' | 'none' {
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

function targetOf(scope: Scope, target: Word | undefined): readonly Field[] {
  if (!target) return [anyText]
  const lists = expandWord(scope, target)
  return lists.flatMap((fields) => (fields.length === 1 ? fields : [anyText]))
}

/** Returns the content of a file that this command line has written. */
export function getFileContent(shell: Shell, path: Field, otherwise: Stream = 'unknown'): Stream {
  if (path === '/dev/null') return ['']
  const contents = resolvePlaces(path, shell).map((place) => shell.files.get(place) ?? otherwise)
  return isLiteral(path) ? merged(contents) : 'unknown'
}

function hereDocument(scope: Scope, { body, delimiter, operator }: HereDoc): Stream {
  const strip = (text: string): string => (operator === '<<-' ? text.replace(/^\t+/gm, '') : text)
  if (delimiter?.quoted) return [strip(body.text)]
  if (!body.parts) return [strip(unescaped(body.text))]
  return toStream(expandParts(scope, body.parts).map((text) => strip(text)))
}

const unescaped = (text: string): string =>
  text.replace(/\\([$`\\\n])/g, (_, char: string) => (char === '\n' ? '' : char))

function hereString(scope: Scope, target: Word | undefined): Stream {
  if (!target) return 'unknown'
  return toStream(expandText(scope, target).map((text) => `${text}\n`))
}
