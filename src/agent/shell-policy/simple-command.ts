/** Judges one simple command: its assignments, its redirections, and every possible list of its words. */

import type { Assignment, Command, CommandArgument, HereDoc, Redirect, Redirection, Word } from 'unbash'
import { anyText, anyWords, isLiteral, type Field } from '#agent/path-policy/field.ts'
import { checkRead, checkWrite } from './check-paths.ts'
import { expandParts, expandText, expandWord, getVariable, judgeEvaluated, product } from './expansion/expand-word.ts'
import { addLiteral, type CommandOutput, type JudgeScope, type ShellValue } from './shell-state.ts'
import { judgeVariable } from './variables.ts'

/** Sets a variable. A list of several candidates means that it has one of these values. */
export function setVariable(scope: JudgeScope, name: string, candidates: readonly Field[], isExported: boolean): void {
  const known = candidates.length > 24 ? [anyText] : candidates
  for (const text of known) judgeVariable(scope, name, text, isExported)
  scope.shell.vars.set(name, { candidates: known })
}

export function walkSimpleCommand(scope: JudgeScope, node: Command, stdin: CommandOutput): CommandOutput {
  const { shell, judge } = scope
  const assignments = node.prefix.filter((child): child is Assignment => child.type === 'Assignment')
  const words = node.name ? [node.name, ...node.args] : []
  if (words.length === 0) {
    for (const assignment of assignments) assign(scope, assignment, false)
    judgeRedirections(scope, node.redirects, stdin)
    return node.redirects.length > 0 ? undefined : ''
  }
  let lists: readonly (readonly Field[])[] = [[]]
  for (const word of words) lists = product(lists, expandArgument(scope, word), [anyWords])
  const { input, isWriting, write } = judgeRedirections(scope, node.redirects, stdin)
  const inner = isWriting ? { ...scope, captured: true } : scope
  const { vars } = shell
  if (assignments.length > 0) shell.vars = new Map(vars)
  for (const assignment of assignments) assign(scope, assignment, true)
  const outputs = lists.map((argv) => (argv.length > 0 ? judge.judgeVector(inner, argv, input) : ''))
  for (const { name } of assignments) {
    const earlier = vars.get(name)
    if (earlier) shell.vars.set(name, earlier)
    else shell.vars.delete(name)
  }
  return write(outputs.length === 1 ? outputs[0] : undefined)
}

function expandArgument(scope: JudgeScope, word: CommandArgument): readonly (readonly Field[])[] {
  if (word.type === 'Word') return expandWord(scope, word)
  assign(scope, word, false)
  const texts = word.value.type === 'Word' ? (scope.shell.vars.get(word.name)?.candidates ?? [anyText]) : ['']
  return texts.map((text) => [`${word.name}=${text}`])
}

function assign(scope: JudgeScope, assignment: Assignment, isExported: boolean): void {
  const { name, value, append, index } = assignment
  for (const text of index ? expandText(scope, index) : []) judgeEvaluated(scope, text, name)
  const previous = append || index ? getVariable(scope, name) : undefined
  if (value.type === 'ArrayValue') {
    assignList(scope, name, joinLists(previous, expandArray(scope, value.elements)), isExported)
    return
  }
  const texts = expandText(scope, value)
  for (const text of texts) addLiteral(scope.judge, text)
  const all = previous ? previous.candidates.flatMap((before) => texts.map((text) => before + text)) : texts
  setVariable(scope, name, index ? [anyText] : all, isExported)
}

const joinLists = (
  previous: ShellValue | undefined,
  list: readonly Field[] | undefined,
): readonly Field[] | undefined =>
  list && previous ? [...(previous.list ?? previous.candidates.slice(0, 1)), ...list] : list

function assignList(scope: JudgeScope, name: string, list: readonly Field[] | undefined, isExported: boolean): void {
  const text = list ? list.join(' ') : anyText
  addLiteral(scope.judge, text)
  judgeVariable(scope, name, text, isExported)
  scope.shell.vars.set(name, list ? { candidates: [list[0] ?? ''], list } : { candidates: [anyText] })
}

/** Returns the items of an array when they are known and in order. `([0]=a [1]=b)` is the same as `(a b)`. */
function expandArray(scope: JudgeScope, elements: readonly Word[]): readonly Field[] | undefined {
  const lists = elements.map((element) => expandWord(scope, element))
  const indexes = elements.map(({ text }) => /^\[([^\]]*)\]=/.exec(text)?.[1])
  for (const index of indexes) if (index !== undefined) judgeEvaluated(scope, index, 'A subscript')
  const texts = lists.flatMap((list) => list[0] ?? [])
  const isNumbered = texts.length === elements.length && indexes.every((index, i) => index === `${i}`)
  if (lists.some(({ length }) => length !== 1) || (!isNumbered && indexes.some((index) => index !== undefined)))
    return undefined
  return isNumbered && elements.length > 0 ? texts.map((text) => text.slice(text.indexOf('=') + 1)) : texts
}

type Redirections = {
  readonly input: CommandOutput
  readonly isWriting: boolean
  /** Records the output that goes to files. Returns the rest of it. */
  readonly write: (output: CommandOutput) => CommandOutput
}

export function judgeRedirections(
  scope: JudgeScope,
  redirects: readonly Redirection[],
  stdin: CommandOutput,
): Redirections {
  let input = stdin
  const targets: { readonly path: Field; readonly append: boolean }[] = []
  for (const redirect of redirects) {
    if (redirect.type === 'Redirect') {
      const { reads, writes } = judgeFileRedirection(scope, redirect)
      if (reads !== undefined) input = scope.judge.written.get(reads)
      if (reads === '/dev/null') input = ''
      targets.push(...writes.map((path) => ({ path, append: redirect.operator.endsWith('>>') })))
    } else {
      input =
        redirect.type === 'HereDoc' ? expandHereDocument(scope, redirect) : expandHereString(scope, redirect.target)
      if (input !== undefined) addLiteral(scope.judge, input)
    }
  }
  const write = (output: CommandOutput): CommandOutput => {
    for (const { path, append } of targets) recordWritten(scope, path, append ? undefined : output)
    return targets.length > 0 ? '' : output
  }
  return { input, isWriting: targets.length > 0, write }
}

/** Remembers what the line writes, so that running the file can be judged. */
export function recordWritten({ judge, shell }: JudgeScope, path: Field, content: CommandOutput): void {
  for (const cwd of shell.cwd)
    judge.written.set(path.startsWith('/') ? path : `${cwd}/${path.replace(/^\.\//, '')}`, content)
}

type FileRedirection = { readonly reads: Field | undefined; readonly writes: readonly Field[] }

function judgeFileRedirection(scope: JudgeScope, redirect: Redirect): FileRedirection {
  const { operator, descriptor } = redirect
  const paths = expandTarget(scope, redirect)
  if (descriptor?.type === 'FileDescriptorVariable') setVariable(scope, descriptor.name, [anyText], false)
  const isDuplicate = /^[<>]&$/.test(operator) && paths.every((path) => /^\d+-?$|^-$/.test(path))
  if (isDuplicate) return { reads: undefined, writes: [] }
  const isRead = /^<&?$/.test(operator)
  for (const path of paths) judgeTarget(scope, path, isRead)
  if (isRead) return { reads: paths[0] ?? '', writes: [] }
  const isPrinted = descriptor?.type !== 'FileDescriptor' || descriptor.value === 1
  return { reads: undefined, writes: isPrinted ? paths : [] }
}

const expandTarget = (scope: JudgeScope, { target }: Redirect): readonly Field[] =>
  target ? expandWord(scope, target).map(([only = anyText, ...more]) => (more.length > 0 ? anyText : only)) : [anyText]

function judgeTarget(scope: JudgeScope, path: Field, isRead: boolean): void {
  if (isRead || /^\/dev\/(tcp|udp)\//.test(path)) checkRead(scope, path, 'The redirection')
  if (!isRead) checkWrite(scope, path, 'The redirection', 'write to')
}

function expandHereDocument(scope: JudgeScope, { body, delimiter, operator }: HereDoc): CommandOutput {
  const strip = (text: string): string => (operator === '<<-' ? text.replace(/^\t+/gm, '') : text)
  if (delimiter?.quoted) return strip(body.text)
  if (body.parts) return toOutput(expandParts(scope, body.parts).map(strip))
  return strip(body.text.replace(/\\([$`\\\n])/g, (_, char: string) => (char === '\n' ? '' : char)))
}

const expandHereString = (scope: JudgeScope, target: Word | undefined): CommandOutput =>
  target && toOutput(expandText(scope, target).map((text) => `${text}\n`))

const toOutput = (texts: readonly Field[]): CommandOutput =>
  texts.length === 1 && isLiteral(texts[0] ?? '') ? texts[0] : undefined
