/** Judges one argument vector: the hardline list first, then the allow-list. Everything else needs approval. */

import { anyNumber, anyText, isGlob, isUnknown, marks, renderField, type Field } from '#agent/path-policy/field.ts'
import { resolvePath } from '#agent/path-policy/judge-path.ts'
import { listStartedCode } from './allow-list/exec-options.ts'
import { leavesMachine } from './allow-list/network.ts'
import { programList, wordPrinters } from './allow-list/programs.ts'
import { findBuiltin, findPrinter } from './builtins.ts'
import { resolvePaths } from './check-paths.ts'
import { addDashes, operandChecks } from './check-operands.ts'
import { networkChecks } from './check-network.ts'
import { findService } from './check-services.ts'
import { findHardline, isDestructive } from './hardline.ts'
import { checkValue, findRunner, judgeRun, reportNetwork } from './judge-run.ts'
import { parseGrammar, readOptions, type Caution, type Grammar } from './match-options.ts'
import { findInWords } from './scan-literals.ts'
import {
  addFinding,
  addHiddenCode,
  addLiteral,
  type SimpleCommand,
  type CommandOutput,
  type JudgeScope,
} from './shell-state.ts'
import { findWrapper } from './wrappers.ts'

type ProgramOptions = {
  readonly grammar: Grammar
  readonly operands: string
  /** Which words may become options at run time. */
  readonly caution: Caution
  readonly printsNumber: boolean
}

let programs: ReadonlyMap<string, ProgramOptions> | undefined

function parsePrograms(): ReadonlyMap<string, ProgramOptions> {
  const parsed = new Map<string, ProgramOptions>()
  for (const line of programList.trim().split('\n')) {
    const [, names = '', options = '', rest = ''] = /^(.+?) : (.*?) ?: (.+)$/.exec(line) ?? []
    const [operands = '', ...signs] = rest.trim().split(' ')
    const program: ProgramOptions = {
      grammar: parseGrammar(options),
      operands,
      caution: signs.includes('!') ? 'high' : signs.includes('*') ? 'none' : 'low',
      printsNumber: signs.includes('=number'),
    }
    for (const name of names.split(' ')) parsed.set(name, program)
  }
  return parsed
}

const maxDepth = 24

const isHelp = (args: readonly Field[]): boolean =>
  args.length > 0 && args.every((word) => /^--(help|version)$/.test(word))

const systemDirectories = /^\/(usr\/(local\/)?)?s?bin\/[^/]+$/
const toolDirectories = /(^|\/)(node_modules\/\.bin|\.?venv\/bin|vendor\/bin)\/[^/]+$/

export function judgeVector(scope: JudgeScope, argv: readonly Field[], stdin: CommandOutput): CommandOutput {
  const { judge, shell } = scope
  const [first = '', ...args] = argv
  judge.remainingSteps -= 1 + (argv.length >> 2)
  if (judge.remainingSteps < 0) return undefined
  if (judge.depth >= maxDepth) {
    addFinding(judge, 'ask', 'Commands are nested too deeply to judge')
    return undefined
  }
  const copied = findCopied(scope, first)
  const vector = copied === undefined ? argv : [copied, ...args]
  const found = findHardline(vector, { host: judge.host, cwd: shell.cwd, work: judge }) ?? findByLiterals(scope, vector)
  if (found !== undefined) addFinding(judge, 'hardline', found)
  if (copied !== undefined) addFinding(judge, 'ask', `${renderField(first)} is ${copied} under another name`)
  const name = copied ?? toProgramName(scope, first)
  const shown = renderField([name, ...args].join(' '))
  if (judge.commands.size < 200) judge.commands.add(shown.slice(0, 2_000))
  if (judge.programs.size < 100) judge.programs.add(renderField(name).slice(0, 80))
  const call: SimpleCommand = {
    ...scope,
    name,
    args,
    stdin,
    ask: (reason, rule) => addFinding(judge, 'ask', reason, rule === null ? undefined : (rule ?? name)),
    refuse: (reason) => addFinding(judge, 'hardline', reason),
  }
  judge.depth++
  const output = dispatch(call, first)
  judge.depth--
  return output
}

/** Recursive removal of a path that is not known, with a vital path among the literals of the line. */
function findByLiterals({ judge, shell }: JudgeScope, argv: readonly Field[]): string | undefined {
  const at = argv.findIndex((word, i) => i > 0 && isUnknown(word))
  if (at === -1 || !/^(.*\/)?(rm|rimraf|chmod|chown|mv|shred|dd|mkfs.*|kill|cp|tee|wipefs)$/.test(argv[0] ?? ''))
    return undefined
  for (const literal of judge.literals) {
    const text = literal.trim()
    if (text.length > 200 || !/^[-/~.]|^\d|^of=/.test(text)) continue
    // `find` lists everything below its start.
    const deep = judge.programs.has('find') && argv[0]?.endsWith('rm') ? ['-r'] : []
    if (--judge.remainingGuesses < 0) return undefined
    const filled = [...argv.slice(0, at), ...deep, ...text.split(/\s+/), ...argv.slice(at + 1)]
    const reason = findHardline(filled, { host: judge.host, cwd: shell.cwd, work: judge })
    if (reason !== undefined) return reason
  }
  return undefined
}

/** Returns the program of which the line has made a copy or a link with this path. */
function findCopied(scope: JudgeScope, word: Field): string | undefined {
  const { renamed } = scope.judge
  if (renamed.size === 0 || !word.includes('/')) return undefined
  return resolvePaths(scope, word, true).map((path) => renamed.get(path))[0]
}

/** Returns the name of a program of the system or of a tool of the project, otherwise the path. */
function toProgramName({ shell }: JudgeScope, word: Field): Field {
  if (!word.includes('/') || isUnknown(word) || isGlob(word)) return word
  const path = resolvePath(word, shell.cwd[0] ?? '/')
  if (systemDirectories.test(path) || toolDirectories.test(path)) return path.slice(path.lastIndexOf('/') + 1)
  return /(^|\/)(gradlew|mvnw)$/.test(word) ? word.slice(word.lastIndexOf('/') + 1) : word
}

function dispatch(call: SimpleCommand, word: Field): CommandOutput {
  const { judge, shell, name } = call
  for (const code of listStartedCode(name, call.args)) judgeStarted(call, code)
  const body = shell.functions.get(name)
  if (body) return callFunction(call, body)
  const alias = shell.aliases.get(name)
  if (alias !== undefined) {
    addLiteral(judge, [alias, ...call.args].join(' '))
    return judge.judgeVector(call, [...alias.trim().split(/\s+/), ...call.args], call.stdin)
  }
  return isUnknown(name) || isGlob(name) || name === '' ? judgeUnknownWord(call, word) : judgeNamed(call)
}

/** Judges what an option starts as if it stood on the line itself. */
function judgeStarted(call: SimpleCommand, code: Field): void {
  call.ask(`${call.name} would start ${renderField(code).slice(0, 80)}`)
  addLiteral(call.judge, code)
  call.judge.walkText(call, code.replace(marks, ''))
}

function judgeNamed(call: SimpleCommand): CommandOutput {
  const { name } = call
  if (isHelp(call.args) && isDestructive(name)) return undefined
  const special = findBuiltin(name) ?? findWrapper(name) ?? findService(name) ?? findRunner(name)
  return special ? special(call) : judgeListed(call)
}

function judgeListed(call: SimpleCommand): CommandOutput {
  programs ??= parsePrograms()
  const program = programs.get(call.name)
  if (program) return judgeProgram(call, program)
  return call.name.includes('/') ? judgeRun(call, call.name, call.args) : judgeUnknownProgram(call)
}

function callFunction(call: SimpleCommand, body: Parameters<SimpleCommand['judge']['walkBody']>[1]): CommandOutput {
  addLiteral(call.judge, call.args.join(' '))
  for (const word of call.args) addLiteral(call.judge, word)
  const vars = new Map(call.shell.vars)
  const output = call.judge.walkBody(call, body, call.stdin)
  for (const [name, value] of vars) if (!call.shell.vars.has(name)) call.shell.vars.set(name, value)
  return output
}

function judgeUnknownWord(call: SimpleCommand, word: Field): CommandOutput {
  const { judge, args, shell } = call
  addHiddenCode(judge, `${renderField(word) || 'A word'} starts a program that is only known at run time`)
  addLiteral(judge, args.join(' '))
  for (const literal of judge.literals) {
    if (literal.length >= 40) continue
    if (--judge.remainingGuesses < 0) return undefined
    const reason = findHardline([literal.trim(), ...args], { host: judge.host, cwd: shell.cwd, work: judge })
    if (reason !== undefined) addFinding(judge, 'hardline', reason)
  }
  return undefined
}

function judgeUnknownProgram(call: SimpleCommand): CommandOutput {
  const { judge, args, name, shell } = call
  call.ask(`${renderField(name)} is not on the list of programs that run without approval`)
  const reason = findInWords(args, { host: judge.host, cwd: shell.cwd, work: judge })
  if (reason !== undefined) addFinding(judge, 'hardline', reason)
  judge.hasUnknownCode = true
  judge.leaves = true
  for (const text of [...args, args.join(' ')]) addLiteral(judge, text)
  if (call.stdin !== undefined) addLiteral(judge, call.stdin)
  return undefined
}

/** These checks find calls that stay on this host. */
const isLocalCheck = (operands: string): boolean => Object.hasOwn(networkChecks, operands)

/** These checks parse the options themselves. */
const parsesOptions = /^(dd|kill|sed|find|openssl|getent)$/

function judgeProgram(call: SimpleCommand, program: ProgramOptions): CommandOutput {
  if (isHelp(call.args)) return undefined
  const { grammar, operands, caution } = program
  const options = readOptions(operands === 'tar' ? addDashes(call.args) : call.args, grammar, caution)
  if (!parsesOptions.test(operands) && options.problem !== undefined) judgeProblem(call, program, options.problem)
  for (const { value, role } of options.values) checkValue(call, value, role)
  operandChecks[operands]?.(call, options)
  if (!isLocalCheck(operands) && leavesMachine(call.name, options.operands)) reportNetwork(call)
  return findPrinter(call.name)?.(call) ?? printPlaceholder(call.name, program)
}

function printPlaceholder(name: string, { printsNumber }: ProgramOptions): CommandOutput {
  if (printsNumber) return anyNumber
  return wordPrinters.has(name) ? anyNumber + anyText : undefined
}

function judgeProblem(call: SimpleCommand, { caution }: ProgramOptions, problem: string): void {
  const { judge, args } = call
  const isDeep = call.name === 'rm' && args.some((word) => /^-\w*[rR]|^--r/.test(word))
  const paths = args
    .filter((word) => !word.startsWith('-'))
    .map(renderField)
    .join(' ')
  call.ask(isDeep ? `rm would remove ${paths} and everything in it` : `${call.name} is given ${problem}`)
  for (const word of args) addLiteral(judge, word.replace(/^--?[\w-]+=(exec=)?/, ''))
  if (caution !== 'high') return
  judge.hasUnknownCode = true
  const reason = findInWords(args, { host: judge.host, cwd: call.shell.cwd, work: judge })
  if (reason !== undefined) addFinding(judge, 'hardline', reason)
}
