/** Checks sed, awk, find and fd, whose scripts and options can write files and start programs. */

import {
  anyCharacter,
  anyCharacters,
  anyText,
  anyWords,
  isGlob,
  isUnknown,
  renderField,
  type Field,
} from '#agent/path-policy/field.ts'
import { isHarmlessAwkProgram } from './languages/awk-program.ts'
import { checkRead } from './check-paths.ts'
import { createSubstitution } from './constant-output.ts'
import { reads, writes, type CommandCheck } from './effects.ts'
import { isSelective, listFindStarts } from './hardline.ts'
import { listFound } from './listed-secrets.ts'
import { addListing } from './listings.ts'
import { isHarmlessSedScript } from './languages/sed-script.ts'
import { addLiteral, addTransform, type SimpleCommand } from './shell-state.ts'

type SedWords = { readonly scripts: Field[]; readonly operands: Field[]; isInPlace: boolean }

/** Parses the words of sed. A suffix is always joined to `-i`. */
function readSedWords(call: SimpleCommand): SedWords {
  const words: SedWords = { scripts: [], operands: [], isInPlace: false }
  const { args } = call
  for (let at = 0; at < args.length; at++) {
    const word = args[at] ?? ''
    const next = args[at + 1] ?? ''
    if (/^-[nErsuz]*i[\w.~-]*$|^--in-place(=[\w.~-]*)?$/.test(word)) words.isInPlace = true
    else if (/^(-[nErsuz]*e|--expression)$/.test(word)) {
      words.scripts.push(next)
      at++
    } else if (/^(-e|--expression=)/.test(word)) words.scripts.push(word.replace(/^(-e|--expression=)/, ''))
    else if (!harmlessSedOption.test(word)) readSedOperand(call, word, words)
  }
  if (words.scripts.length === 0) words.scripts.push(...words.operands.splice(0, 1))
  return words
}

const harmlessSedOption =
  /^(--|-l\d+|-[nErsuz]+|--(quiet|silent|regexp-extended|separate|null-data|unbuffered|posix|version|help))$/

function readSedOperand(call: SimpleCommand, word: Field, { operands }: SedWords): void {
  if (/^-./.test(word) || isUnknown(word[0] ?? '') || isGlob(word[0] ?? ''))
    call.ask(`sed is given ${renderField(word)}, which is not on the list of harmless options`)
  operands.push(word)
}

const sed: CommandCheck = (call) => {
  const { scripts, operands, isInPlace } = readSedWords(call)
  for (const script of scripts) {
    const transform = createSubstitution(script)
    if (transform) addTransform(call.judge, script, transform)
    if (isHarmlessSedScript(script)) continue
    call.ask(`sed could write files or start programs with ${renderField(script).slice(0, 80)}`)
    call.judge.hasUnknownCode = true
    addLiteral(call.judge, script.replace(/^\W*\d*e\s+/, ''))
  }
  reads(call, operands)
  if (!isInPlace) return
  // The text that is added may run later.
  for (const script of scripts) addLiteral(call.judge, script.replace(/^[^aic]*[aic]\\?\s*/, ''))
  writes(call, operands, 'change')
}

const awk: CommandCheck = (call, { operands: [program = '', ...paths] }) => {
  if (!isHarmlessAwkProgram(program)) {
    call.ask(`awk could write files or start programs with ${renderField(program).slice(0, 80)}`)
    call.judge.hasUnknownCode = true
  }
  addLiteral(call.judge, program)
  reads(call, paths)
}

/** Tests and actions of find without side effects. `:1` takes a word. */
const predicates = new Map(
  'name:1 iname:1 path:1 ipath:1 wholename:1 regex:1 iregex:1 regextype:1 type:1 xtype:1 size:1 mtime:1 mmin:1 atime:1 amin:1 ctime:1 cmin:1 newer:1 anewer:1 cnewer:1 newermt:1 newerct:1 perm:1 user:1 group:1 uid:1 gid:1 links:1 inum:1 samefile:1 lname:1 ilname:1 maxdepth:1 mindepth:1 printf:1 fstype:1 empty:0 readable:0 writable:0 executable:0 nouser:0 nogroup:0 print:0 print0:0 ls:0 prune:0 quit:0 depth:0 d:0 mount:0 xdev:0 daystart:0 follow:0 true:0 false:0 not:0 a:0 and:0 o:0 or:0 noleaf:0 E:0 H:0 L:0 P:0 version:0 help:0 s:0 X:0 x:0'
    .split(' ')
    .map((item) => [item.slice(0, -2), Number(item.at(-1))] as const),
)

/** Programs that need approval when find starts them for unlisted files. */
const changing = /^(rm|rmdir|unlink|mv|shred|truncate|chmod|chown|ln|cp|tee|touch|install|dd)$/

const find: CommandCheck = (call) => {
  const { args } = call
  const starts = listFindStarts(args)
  const isAction = (word: Field): boolean =>
    word.startsWith(anyWords) || (isUnknown(word[0] ?? '') && !starts.includes(word))
  if (args.some(isAction)) call.ask('find is given a word that may be an action')
  for (const start of starts) {
    checkRead(call, start, 'find', 'name')
    if (!isSelective(args)) addLiteral(call.judge, start)
    for (const name of listNames(args)) checkRead(call, `${start}/${name}`, 'find', call.captured ? 'content' : 'name')
  }
  const from = findFirstTest(args)
  const found = listFound(call, { starts, from, arity: listArity(args), isNaming: namesFiles(args) })
  for (let at = from; at < args.length;) at = judgePredicate(call, at, starts, found.byAction)
}

const findFirstTest = (args: readonly Field[]): number => {
  const first = args.findIndex((word) => /^-(?![HLPD]$|O\d)/.test(word) || word === '(' || word === '!')
  return first === -1 ? args.length : first
}

const namesFiles = (args: readonly Field[]): boolean =>
  args.some((word, i) => /^-i?(name|path|wholename|regex)$/.test(word) && !/^(!|-not)$/.test(args[i - 1] ?? ''))

const isExecution = /^-(exec|execdir|ok|okdir)$/

/** Returns how many words a test or an action takes. */
const listArity =
  (args: readonly Field[]) =>
  (word: Field, at: number): number =>
    isExecution.test(word) ? findExecutionEnd(args, at) - at : (predicates.get(word.slice(1)) ?? 0)

function findExecutionEnd(args: readonly Field[], at: number): number {
  const end = args.findIndex(
    (word, i) => i > at && (word === ';' || (word === '+' && args[i - 1]?.includes('{}') === true)),
  )
  return end === -1 ? args.length : end
}

/** The names that find prints, for the programs that read them. */
export function listFindOutput(call: SimpleCommand): Field {
  const { args, judge } = call
  const from = findFirstTest(args)
  const words = { starts: listFindStarts(args), from, arity: listArity(args), isNaming: namesFiles(args) }
  const { byAction, printed } = listFound(call, words)
  const actions = [...args.keys()].filter(
    (at) => at >= from && /^-(print0?|printf|ls|exec\w*|ok\w*|delete)$/.test(args[at] ?? ''),
  )
  const secrets = actions.length === 0 ? printed : actions.flatMap((at) => [...(byAction.get(at) ?? [])])
  return addListing(judge, [...new Set(secrets)])
}

/** Returns the position after a test or an action. */
function judgePredicate(
  call: SimpleCommand,
  at: number,
  starts: readonly Field[],
  secrets: ReadonlyMap<number, ReadonlySet<string>>,
): number {
  const word = call.args[at] ?? ''
  const taken = word.startsWith('-') ? predicates.get(word.slice(1)) : undefined
  if (/^[()!,]$/.test(word)) return at + 1
  if (taken !== undefined) return at + 1 + taken
  if (isExecution.test(word)) return judgeExecution(call, at, starts, [...(secrets.get(at) ?? [])])
  call.ask(word === '-delete' ? 'find would remove what it finds' : `find is given ${renderField(word)}`)
  return at + 1
}

/** The names that find selects, with wildcards. */
const listNames = (args: readonly Field[]): readonly Field[] =>
  args
    .filter((_, i) => /^-(i?name|i?path|i?wholename)$/.test(args[i - 1] ?? '') && !/^(!|-not)$/.test(args[i - 2] ?? ''))
    .map((name) => name.replaceAll('*', anyCharacters).replaceAll('?', anyCharacter))

function judgeExecution(call: SimpleCommand, at: number, starts: readonly Field[], secrets: readonly string[]): number {
  const { args } = call
  const end = findExecutionEnd(args, at)
  call.judge.readsMany = true
  const program = args.slice(at + 1, end)
  if (args[at]?.startsWith('-ok') || changing.test(program[0]?.split('/').at(-1) ?? ''))
    call.ask(`find would start ${renderField(program.join(' '))} for what it finds`)
  // A program of the project runs in every directory that is found.
  const isElsewhere = args[at] === '-execdir' && program[0]?.includes('/') === true
  const shell = isElsewhere ? { ...call.shell, cwd: [anyText] } : call.shell
  const named = secrets.length === 0 ? [] : [`${starts[0] ?? '.'}/${addListing(call.judge, secrets)}`]
  for (const path of [...listFoundPaths(args, starts), ...named])
    call.judge.judgeVector(
      { ...call, shell },
      program.map((word) => word.replaceAll('{}', () => path)),
      undefined,
    )
  return end + 1
}

/** Without a selection, the start directory itself is among the found paths. */
const listFoundPaths = (args: readonly Field[], starts: readonly Field[]): readonly Field[] =>
  starts
    .slice(0, 4)
    .flatMap((start) =>
      isSelective(args)
        ? [`${start}/x/x`, ...listNames(args).map((name) => `${start}/x/${name}`)]
        : [start, `${start}/${anyCharacters}`],
    )

/** fd works like find with other options. */
const fd: CommandCheck = (call, { operands: [, ...starts] }) => {
  const at = call.args.findIndex((word) => /^(-[a-zA-Z]*[xX]|--exec|--exec-batch)$/.test(word))
  reads(call, starts, 'name')
  if (at === -1) return
  for (const word of call.args.slice(0, at)) addLiteral(call.judge, word)
  call.judge.judgeVector(call, [...call.args.slice(at + 1), anyWords], undefined)
}

export const textChecks: Readonly<Record<string, CommandCheck>> = { sed, awk, find, fd }
