/** One simple command: its assignments, its redirections, and every list of words it can become. */

import type { Assignment, Command, CommandArgument, HereDoc, Redirect, Redirection, Word } from 'unbash'
import { ANY, isLiteral, isUnknown, shown, SPLIT, type Field } from './marks.ts'
import { holds, reads, writes } from './call.ts'
import { places } from './paths.ts'
import {
  clone,
  concat,
  finding,
  join,
  type Call,
  type Judge,
  type Shell,
  type Stdin,
  type Stream,
  type Value,
} from './shell.ts'
import { judgeVariable } from './variables.ts'
import { expandParts, expandText, expandWord, judgeEvaluated, product, streamOf, valueOf, type Scope } from './word.ts'

/** A call in the name of the shell itself, for what redirections do. */
export const asCall = (judge: Judge, shell: Shell, name: string, args: readonly Field[] = []): Call => ({
  name,
  args,
  shell,
  stdin: 'none',
  judge,
  ask: (reason, rule) => finding(judge, 'ask', reason, rule === null ? undefined : (rule ?? name)),
  never: (reason) => finding(judge, 'hardline', reason),
})

export function runSimple(scope: Scope, node: Command, stdin: Stdin): Stream {
  const { judge, shell } = scope
  const assignments = node.prefix.filter((child): child is Assignment => child.type === 'Assignment')
  const words = node.name ? [node.name, ...node.args] : []
  let lists: readonly (readonly Field[])[] = [[]]
  for (const word of words) lists = product(lists, argument(scope, word), [SPLIT])
  const { input, target } = redirected(scope, node.redirects, stdin)
  if (words.length === 0) return assigning(scope, assignments, node.redirects, input)
  const own = assignments.length > 0 ? clone(shell) : shell
  for (const assignment of assignments) assign({ judge, shell: own }, assignment, true)
  const outputs = lists.map((argv) => (argv.length > 0 ? judge.run(argv, own, input) : ['']))
  if (own !== shell) afterwards(scope, own, assignments)
  const output = outputs.length === 1 ? (outputs[0] ?? 'unknown') : merged(outputs)
  return target ? target(output) : output
}

/** What a command with variables of its own leaves behind; the variables themselves end with it. */
function afterwards({ judge, shell }: Scope, own: Shell, assignments: readonly Assignment[]): void {
  for (const { name } of assignments) {
    const value = shell.vars.get(name)
    if (value) own.vars.set(name, value)
    else own.vars.delete(name)
  }
  join(shell, own, (name) => valueOf({ judge, shell }, name))
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
  const texts = word.value.type === 'Word' ? (scope.shell.vars.get(word.name)?.candidates ?? [ANY]) : ['']
  return texts.map((text) => [`${word.name}=${text}`])
}

function assign(scope: Scope, assignment: Assignment, exported: boolean): void {
  const { judge, shell } = scope
  const { name, value, append } = assignment
  subscript(scope, assignment)
  const was = append || assignment.index ? valueOf(scope, name) : undefined
  if (value.type === 'ArrayValue') {
    const list = joinedItems(scope, value.elements, was)
    shell.vars.set(name, list ? { candidates: [list[0] ?? ''], list } : { candidates: [ANY] })
    return
  }
  const texts = expandText(scope, value)
  const all = was ? concat(was.candidates, texts) : texts
  shell.vars.set(name, { candidates: assignment.index || all === 'unknown' ? [ANY] : all })
  for (const text of texts) judgeVariable(asCall(judge, shell, name), name, text, exported)
}

function subscript(scope: Scope, { index, name }: Assignment): void {
  for (const text of index ? expandText(scope, index) : []) judgeEvaluated(scope, text, name)
}

/** A whole array, or what it was and what is put behind it. */
function joinedItems(scope: Scope, elements: readonly Word[], was: Value | undefined): readonly Field[] | undefined {
  const items = itemsOf(scope, elements)
  if (!was) return items
  const [only, ...others] = was.candidates
  const before = was.list ?? (others.length === 0 && only !== undefined && isLiteral(only) ? [only] : undefined)
  return items && before && [...before, ...items]
}

/** The items of an array, when they are known and stand in order. */
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

/** Judges redirections; tells what the command reads, and where what it prints goes. */
export function redirected(scope: Scope, redirects: readonly Redirection[], stdin: Stdin): Redirected {
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

/** A redirection from or to a file; what is read from then on. */
function filed(
  scope: Scope,
  redirect: Redirect,
  { input, targets }: { readonly input: Stdin; readonly targets: Target[] },
): Stdin {
  let reading = input
  const printed = redirect.descriptor?.type !== 'FileDescriptor' || redirect.descriptor.value === 1
  for (const path of targetOf(scope, redirect.target)) {
    const kind = direct(scope, redirect.operator, path)
    if (kind === 'read') reading = contentOf(scope.shell, path)
    else if (kind !== 'none' && printed) targets.push({ path, append: kind === 'append' })
  }
  return reading
}

function poured(
  scope: Scope,
  targets: readonly { readonly path: Field; readonly append: boolean }[],
  output: Stream,
): Stream {
  const call = asCall(scope.judge, scope.shell, 'The redirection')
  for (const { path, append } of targets) {
    const was = append ? contentOf(scope.shell, path, ['']) : ['']
    holds(call, path, targets.length > 1 ? 'unknown' : concat(was, output))
  }
  return ['']
}

const NUMBER = /^\d+-?$|^-$/

function direct(scope: Scope, operator: string, path: Field): 'read' | 'write' | 'append' | 'none' {
  const call = asCall(scope.judge, scope.shell, 'The redirection')
  if ((operator === '>&' || operator === '<&') && NUMBER.test(path)) return 'none'
  if (operator === '<') {
    if (isUnknown(path) && scope.judge.around.sandboxed === false && path === ANY) return 'read'
    reads(call, [path])
    return 'read'
  }
  if (path.startsWith('/dev/tcp/') || path.startsWith('/dev/udp/'))
    call.ask(`A connection to ${shown(path.slice(9))} is opened`)
  writes(call, [path], 'write to')
  return operator.includes('>>') ? 'append' : 'write'
}

function targetOf(scope: Scope, target: Word | undefined): readonly Field[] {
  if (!target) return [ANY]
  const lists = expandWord(scope, target)
  return lists.flatMap((fields) => (fields.length === 1 ? fields : [ANY]))
}

/** What is known of a file, because this command has written it. */
export function contentOf(shell: Shell, path: Field, otherwise: Stream = 'unknown'): Stream {
  if (path === '/dev/null') return ['']
  const contents = places(path, shell).map((place) => shell.files.get(place) ?? otherwise)
  return isLiteral(path) ? merged(contents) : 'unknown'
}

function hereDocument(scope: Scope, { body, delimiter, operator }: HereDoc): Stream {
  const strip = (text: string): string => (operator === '<<-' ? text.replace(/^\t+/gm, '') : text)
  if (delimiter?.quoted) return [strip(body.text)]
  if (!body.parts) return [strip(unescaped(body.text))]
  return streamOf(expandParts(scope, body.parts).map((text) => strip(text)))
}

const unescaped = (text: string): string =>
  text.replace(/\\([$`\\\n])/g, (_, char: string) => (char === '\n' ? '' : char))

function hereString(scope: Scope, target: Word | undefined): Stream {
  if (!target) return 'unknown'
  return streamOf(expandText(scope, target).map((text) => `${text}\n`))
}
